"""Records of several columns: what suppression leaves of them, what plain cells single out, and
which tables are refused."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.running import run
from columns.records import (
    PLAIN,
    Names,
    Shape,
    everybody,
    policy_of,
    publish_tables,
    sets_of,
    start,
    table_of,
)
from publishing import oracle
from serigraph import Spark, draft, publish_draft
from serigraph.auditing import audit_series
from serigraph.errors import InputRefused, PolicyError, SerigraphError, TableError
from serigraph.ledger import Series
from serigraph.planning import plan
from serigraph.publishing import begin, history
from serigraph.publishing.records import facts_on_plain
from serigraph.utility import QueryPlan, evaluate

NAMES = Names()
FORMS = ['form = "generalised"', 'form = "bucketised"', 'form = "bucketised"\napart = true']


@pytest.mark.parametrize("output", FORMS)
def test_a_record_that_loses_a_value_goes_whole(output: str, tmp_path: Path) -> None:
    registry = everybody(300, seed=4)
    table = table_of(registry, 1, NAMES, share=0.5)
    draw = random.Random(1)
    many = [draw.choice(["HIV", "flu"]) for _ in range(table.height)]
    table = table.with_columns(pl.Series("diagnosis", many))
    series = start(tmp_path / "clinic", policy_of(Shape(output)))
    (found,) = publish_tables(series, [table], registry, allow_suppression=True)
    summary = found.record.summary
    assert summary["suppressed"]["diagnosis: HIV"] > 0
    gone = table.height - summary["present"]
    assert gone == summary["suppressed"]["diagnosis: HIV"]
    series.export(tmp_path / "export")
    for column, sets in sets_of(table, NAMES).items():
        export = oracle.read_export(tmp_path / "export", column)
        oracle.check_guarantee(export)
        members = [group.members for group in export.groups[0].values()]
        here = {who for each in members for who, present in each.items() if present}
        held = Counter(value for who in here for value in sets[who])
        shown = Counter[str]()
        for group in export.groups[0].values():
            shown.update(group.values)
        assert all(held[value] == count for value, count in shown.items() if value in held)
    if "apart" not in output:  # no row has an empty cell that its table has not
        rows = found.tables.get("table", found.tables.get("sensitive"))
        assert rows is not None
        assert rows["diagnosis"].null_count() == 0
        assert rows.height == summary["present"]
    assert audit_series(series).audit.files_agree
    few = QueryPlan(queries=200)
    (measured,) = evaluate(series, [table], registry=registry, plan=few).releases
    assert 0 < measured.suppressed_share < 1


@pytest.mark.parametrize("files", ['["csv"]', '["parquet"]'])
def test_what_plain_columns_single_out_is_counted_and_said(files: str, tmp_path: Path) -> None:
    registry = everybody(120, seed=5)
    tables = [table_of(registry, seed, NAMES) for seed in range(2)]
    # The same wards in both tables, and half of the people keep a cost of their own: a whole
    # number, among others in the first table.
    tables = [
        table.with_columns(
            pl.when(pl.col("patient").is_in(range(2, 120, 2)))
            .then(pl.col("patient"))
            .otherwise(others)
            .alias("cost"),
            pl.lit("east").alias("ward"),
            pl.lit("2024-01-01").alias("admitted on"),
        ).with_columns(pl.col("cost").cast(pl.Float64))
        for table, others in zip(tables, (0.5, 0), strict=True)
    ]
    series = start(tmp_path / "clinic", policy_of(Shape(files=files)))
    first, second = publish_tables(series, tables, registry)
    even = [set(table["patient"].to_list()) & set(range(2, 120, 2)) for table in tables]
    own = [each.record.summary["plain_unique_in_table"] for each in (first, second)]
    assert own == [len(each) for each in even]
    assert second.record.summary["plain_linked_rows"] == len(even[0] & even[1])
    rows = second.tables["table"].select("age", "sex", "cost")
    assert second.record.summary["plain_unique_in_group"] == rows.is_unique().sum()
    assert not any("link" in note for note in first.notes)
    linked = f"link {len(even[0] & even[1])} rows to a row of release r1"
    assert any(linked in note for note in second.notes)
    facts = dict(facts_on_plain(second.record.summary))
    assert facts["Rows that they link to a row of r1"].startswith(f"{len(even[0] & even[1])} (")


def test_rows_that_nobody_sees_are_not_counted_in_public(tmp_path: Path) -> None:
    registry = everybody(120, seed=5)
    series = start(tmp_path / "clinic", policy_of(Shape(FORMS[2])))
    (found,) = publish_tables(series, [table_of(registry, 1, NAMES)], registry)
    assert not [key for key in found.record.summary if key.startswith("plain_")]
    assert facts_on_plain(found.record.summary) == []


@pytest.mark.parametrize("output", FORMS[:2])
def test_formulas_in_plain_cells_and_sets_are_quoted(output: str, tmp_path: Path) -> None:
    registry = everybody(150, seed=6)
    table = table_of(registry, 1, NAMES, rare=0.03)
    series = start(tmp_path / "clinic", policy_of(Shape(output, files='["csv"]')))
    (found,) = publish_tables(series, [table], registry)
    name = "table" if "generalised" in output else "sensitive"
    text = (found.folder / f"{name}.csv").read_text()
    cells = pl.read_csv(found.folder / f"{name}.csv", infer_schema=False)
    starts = [
        each for column in cells for each in column.drop_nulls() if each.startswith(("=", "@", "+"))
    ]
    assert starts == []
    assert "'=A1" in text
    assert any("like a formula" in note for note in found.notes)
    refusing = policy_of(Shape(output, rest='formulas = "refuse"'))
    with pytest.raises(TableError) as refused:
        publish_tables(start(tmp_path / "other", refusing), [table], registry)
    assert "column 'ward': 1 text" in refused.value.problems


def rows_of(table: pl.DataFrame, **cells: Any) -> pl.DataFrame:
    """The table with one more row for its first person, of which some cells are other ones."""
    more = table.head(1).with_columns(
        pl.lit(cell).cast(table.schema[name]).alias(name) for name, cell in cells.items()
    )
    return pl.concat([table, more])


def test_rows_of_a_person_are_merged_or_refused(tmp_path: Path) -> None:
    registry = everybody(150, seed=7)
    table = table_of(registry, 1, NAMES)
    rows = policy_of(Shape()).replace('form = "delimited"\ndelimiter = "|"', 'form = "rows"')
    with pytest.raises(TableError, match=r"does not fit") as refused:
        publish_tables(start(tmp_path / "one", policy_of(Shape())), [rows_of(table)], registry)
    assert any("several rows" in each for each in refused.value.problems)
    for name, cell in (("ward", "elsewhere"), ("diagnosis", "HIV")):
        series = start(tmp_path / name, rows)
        with pytest.raises(TableError) as refused:
            publish_tables(series, [rows_of(table, **{name: cell})], registry)
        (problem,) = refused.value.problems
        assert f"column {name!r} differs between the rows of 1 person" in problem
        assert str(cell) not in problem
    series = start(tmp_path / "merged", rows)
    table = table.with_columns(pl.col("drug").str.split("|").list.first())
    (found,) = publish_tables(series, [rows_of(table, drug="another")], registry)
    assert found.record.summary["present"] == table.height
    assert sum("another" in each for each in found.tables["table"]["drug"].to_list()) == 1


def test_missing_columns_and_names_that_clash_are_refused(tmp_path: Path) -> None:
    registry = everybody(100, seed=8)
    table = table_of(registry, 1, NAMES)
    series = start(tmp_path / "clinic", policy_of(Shape()))
    with pytest.raises(TableError) as refused:
        publish_tables(series, [table.rename({"cost": "Costs", "drug": "Drug"})], registry)
    assert "the table has no column 'drug'; did you mean 'Drug'?" in refused.value.problems
    assert "the table has no column 'cost'; did you mean 'Costs'?" in refused.value.problems
    for name in ("group", "value"):
        policy = policy_of(Shape('form = "bucketised"', names=Names(drug=name)))
        with pytest.raises(PolicyError, match="like the"):
            publish_tables(start(tmp_path / name, policy), [table], registry)
    misspelt = policy_of(Shape()).replace('"HIV"]', '"HVI"]')
    misspelt = misspelt.replace('unheld = "allow"\n', "")
    with pytest.raises(PolicyError) as wrong:
        publish_tables(start(tmp_path / "misspelt", misspelt), [table], registry)
    assert "'diagnosis: HVI'" in wrong.value.problems[0]
    assert series.releases() == ()


def test_spark_refuses_records(tmp_path: Path) -> None:
    registry = everybody(100, seed=9)
    series = start(tmp_path / "clinic", policy_of(Shape()))
    publish_tables(series, [table_of(registry, 1, NAMES)], registry)
    with pytest.raises(InputRefused, match="one machine"):
        Spark().export(series, tmp_path / "export", confidential=False)
    with pytest.raises(InputRefused, match="one machine"):
        Spark().auditor(series)


def test_from_init_to_audit_in_the_command_line(tmp_path: Path) -> None:
    registry = everybody(600, seed=10)
    names = [f"r{number}" for number in range(2)]
    listed = tmp_path / "registry.csv"
    registry.write_csv(listed)
    for number, name in enumerate(names):
        table = table_of(registry, number, NAMES).drop(PLAIN.keys() - {"cost", "ward"})
        table.with_columns(pl.col("drug").str.replace_all("|", ";", literal=True)).write_csv(
            tmp_path / f"{name}.csv"
        )
    asked = ["init", tmp_path / "clinic", "--from", tmp_path / "r0.csv", "--person", "patient"]
    asked += ["--sensitive", "diagnosis", "--sensitive", "drug", "--plain", "cost"]
    asked += ["--plain", "ward"]
    made = run(*asked, "--persistence", "transient")
    assert made.code == 0, made.err
    assert "Sensitive: diagnosis, drug." in made.out
    assert "diagnosis: HIV" in made.out
    for name in names:
        table = tmp_path / f"{name}.csv"
        clinic = ("--series", tmp_path / "clinic", "--registry", listed)
        published = run("publish", table, *clinic)
        assert published.code == 0, published.err
    tables = [tmp_path / f"{name}.csv" for name in names]
    audited = run("audit", tmp_path / "clinic")
    assert "agree, group by group" in audited.out
    found = run("history", tmp_path / "clinic", "--person", 7, "--value", "drug: AZT")
    assert found.code == 0, found.err
    few = ("--queries", 200)
    measured = run("evaluate", tmp_path / "clinic", *tables, "--registry", listed, *few)
    assert measured.code == 0, measured.err


def test_init_in_python_refuses_what_it_cannot_propose(tmp_path: Path) -> None:
    table = table_of(everybody(200, seed=11), 1, NAMES)
    with pytest.raises(SerigraphError, match="named twice"):
        begin(tmp_path / "a", table, sensitive=["drug", "diagnosis"], plain=["drug"])
    with pytest.raises(TableError, match="no column 'price'"):
        begin(tmp_path / "a", table, sensitive="drug", plain=["price"], persistence="transient")
    known = {"person": "patient", "sensitive": "diagnosis", "plain": ["cost"]}
    begun = begin(tmp_path / "a", table, **known, persistence="transient")
    assert begun.sensitive == "diagnosis"
    (found,) = publish_tables(Series.open(begun.path), [table])
    assert found.tables["table"].columns[-2:] == ["diagnosis", "cost"]
    assert history(begun.path, 3, "HIV").probability <= 1


@pytest.mark.parametrize("output", FORMS)
def test_a_draft_shows_records_before_and_after(output: str, tmp_path: Path) -> None:
    registry = everybody(60, seed=5)
    table = table_of(registry, 1, NAMES, share=0.9)
    series = start(tmp_path / "clinic", policy_of(Shape(output)))
    made = draft(table, series, registry=registry)
    assert len(made.before) == len(made.after) == 12
    plain = table.with_columns(
        pl.col("drug").fill_null("").str.split("|").list.sort().list.join(", ")
    )
    texts = plain.drop("patient").with_columns(pl.all().cast(pl.String).fill_null(""))
    rows = {tuple(row.values()) for row in texts.to_dicts()}
    columns = [*NAMES.columns, *PLAIN]
    for before, after in zip(made.before, made.after, strict=True):
        assert list(before) == ["age", "sex", *columns]
        drugs = ", ".join(sorted(before["drug"].split(", ")))
        assert tuple((before | {"drug": drugs}).values()) in rows
        own = [before[name] for name in columns]
        if "generalised" in output:
            assert [after[name] for name in columns] == own
        elif "apart" in output:
            assert list(after) == ["group", "age", "sex", *columns]
            cells = zip(columns, own, strict=True)
            assert all(cell in after[name] for name, cell in cells if name in PLAIN)
            assert before["diagnosis"] in after["diagnosis"]
            assert all(drug in after["drug"] for drug in before["drug"].split(", "))
        else:
            record = " | ".join(own)
            assert f"1 {record}" in after[", ".join(columns)]


def test_drafts_of_several_releases_are_published(tmp_path: Path) -> None:
    registry = everybody(60, seed=5)
    series = start(tmp_path / "clinic", policy_of(Shape()))
    for seed in (1, 2):
        made = draft(table_of(registry, seed, NAMES), series, registry=registry, label=f"r{seed}")
        assert publish_draft(series, made.name).record.number == seed
    assert audit_series(series).audit.files_agree


def test_a_plan_rehearses_records_and_what_persistence_costs(tmp_path: Path) -> None:
    registry = everybody(200, seed=4)
    table = table_of(registry, 1, NAMES)
    series = start(tmp_path / "clinic", policy_of(Shape(FORMS[0])))
    for people in (registry, None):
        made = plan(table, series, registry=people, releases=2)
        assert [each.persistence for each in made.costs] == ["transient", "permanent", "any"]
        assert all(each.releases == 2 for each in made.costs)
        assert any(each.expected for each in made.outlooks)
        assert f"{NAMES.diagnosis}: HIV" in {each.name for each in made.values}
