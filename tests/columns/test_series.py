"""Five releases of records, in every form: what an outsider works out from the export, the public
files and the raw tables agrees for every column, and with what the audit says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from columns.records import (
    HOSTILE,
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
from serigraph.auditing import audit_releases, audit_series
from serigraph.ledger import ReleaseRecord, Series
from serigraph.policy import read_policy
from serigraph.utility import QueryPlan, evaluate

PROTECTED_DRUGS = ("AZT", "3TC", "a: b", "@x")
HOLDS = [oracle.in_range, oracle.in_set]
FORMS = {
    "generalised": 'form = "generalised"',
    "bucketised": 'form = "bucketised"',
    "apart": 'form = "bucketised"\napart = true',
    "regions": 'form = "bucketised"\ngroups = "regions"',
}
CASES = [
    Shape(FORMS["generalised"], names=HOSTILE),
    Shape(FORMS["generalised"], "presence known"),
    Shape(FORMS["bucketised"], names=HOSTILE),
    Shape(FORMS["bucketised"], "presence known"),
    Shape(FORMS["apart"], names=HOSTILE),
    Shape(FORMS["regions"], has_plain=False),
    Shape(FORMS["generalised"], has_plain=False),
]


def counted_as(names: Names, column: str) -> Callable[[str], Collection[str]]:
    """What a value of a column is protected as, apart from classes across columns."""
    if column == names.diagnosis:
        return lambda value: () if value in ("flu", "fracture") else (value,)
    classes = {"AZT": ("antiretroviral",), "3TC": ("antiretroviral",)}
    return lambda value: (value, *classes.get(value, ())) if value in PROTECTED_DRUGS else ()


def published_cells(files: Path, record: ReleaseRecord, column: str) -> pl.DataFrame:
    """The table that shows values, with those of one column: rows, or counts by group."""
    if record.summary["form"] == "generalised":
        return pl.read_parquet(files / "table.parquet").select("age", "sex", column)
    held = pl.read_parquet(files / "sensitive.parquet")
    if record.summary.get("apart"):
        return held.filter(pl.col("column") == column).select("group", "value", "count")
    cells = held.select("group", pl.col(column).alias("value"))
    if isinstance(cells.schema["value"], pl.List):
        cells = cells.explode("value")
    return cells.drop_nulls().group_by("group", "value").len("count")


def check_columns(
    series: Series,
    tables: list[pl.DataFrame],
    registry: pl.DataFrame | None,
    folder: Path,
    names: Names,
) -> Fraction:
    """That the export, the files and the tables agree on every column; the largest probability."""
    series.export(folder)
    largest = Fraction(0)
    for column in names.columns:
        export = oracle.read_export(folder, column)
        thresholds = {"HIV": Fraction(2, 5)} if column == names.diagnosis else {}
        largest = max(largest, *oracle.check_guarantee(export, thresholds))
        for record, groups, table in zip(series.releases(), export.groups, tables, strict=True):
            shown = published_cells(series.path / "releases" / record.label, record, column)
            own, as_names = sets_of(table, names)[column], counted_as(names, column)
            known = registry if registry is not None and not record.is_presence_known else table
            cells = {str(row[0]): row[1:] for row in known.select("patient", "age", "sex").rows()}
            if record.summary["form"] == "generalised":
                oracle.check_generalised(groups, shown, cells, HOLDS, as_names)
            else:
                members = series.path / "releases" / record.label / "quasi_identifiers.parquet"
                oracle.check_bucketised(
                    groups,
                    pl.read_parquet(members),
                    shown,
                    cells,
                    record.is_presence_known,
                    as_names,
                )
            oracle.check_holders(groups, own, as_names, {})
    across = oracle.read_export(folder, None)
    return max(largest, *oracle.check_guarantee(across, {}))


@pytest.mark.parametrize("shape", CASES, ids=lambda shape: shape.output.replace("\n", " "))
def test_every_column_agrees_with_the_export_and_the_tables(shape: Shape, tmp_path: Path) -> None:
    registry = everybody(260, seed=1)
    tables = [table_of(registry, seed, shape.names) for seed in range(5)]
    has_registry = shape.adversary == "presence unknown"
    series = start(tmp_path / "clinic", policy_of(shape))
    publish_tables(series, tables, registry if has_registry else None)
    largest = check_columns(
        series, tables, registry if has_registry else None, tmp_path / "export", shape.names
    )
    found = audit_series(series, raw=tables).audit
    assert found.files_agree
    assert found.over_all.largest == largest
    assert found.over_all.pairs_above == 0
    if shape.output != FORMS["apart"]:
        check_plain(series, tables, shape)


def check_plain(series: Series, tables: list[pl.DataFrame], shape: Shape) -> None:
    """That every record of the table is published with its plain cells, and no other."""
    if not shape.has_plain:
        return
    diagnosis, drug = shape.names.columns
    for record, table in zip(series.releases(), tables, strict=True):
        files = series.path / "releases" / record.label
        shown = next(files.glob("table.parquet"), files / "sensitive.parquet")
        rows = pl.read_parquet(shown).select(diagnosis, drug, *PLAIN)
        assert rows.schema["cost"] == pl.Float64
        assert rows.schema["admitted on"] == pl.Date
        published = Counter((d, frozenset(g), *rest) for d, g, *rest in rows.iter_rows())
        raw = table.with_columns(pl.col("admitted on").str.to_date())
        own = raw.select(diagnosis, drug, *PLAIN).iter_rows()
        assert published == Counter(
            (d, frozenset((g or "").split("|")) - {""}, *rest) for d, g, *rest in own
        )


@pytest.mark.parametrize("output", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_our_files_audited_as_those_of_another_tool(
    output: str, files: str, tmp_path: Path
) -> None:
    shape = Shape(output, names=HOSTILE, files=f'["{files}"]')
    registry = everybody(200, seed=2)
    tables = [table_of(registry, seed, HOSTILE) for seed in range(3)]
    series = start(tmp_path / "clinic", policy_of(shape))
    publish_tables(series, tables, registry)
    releases = [series.path / "releases" / record.label for record in series.releases()]
    policy = read_policy(series.path / "policy.toml")
    theirs = audit_releases(
        releases, policy, raw=tables, registry=registry, tolerate=["overlaps"]
    ).audit
    mine = audit_series(series).audit
    assert mine.files_agree
    if output == FORMS["apart"]:  # who holds two values of a class is not shown
        assert theirs.over_all.largest >= mine.over_all.largest
    else:
        assert theirs.over_all.largest == mine.over_all.largest
        assert theirs.over_all.people == mine.over_all.people


@pytest.mark.parametrize("output", FORMS.values(), ids=FORMS)
def test_utility_of_records_is_measured(output: str, tmp_path: Path) -> None:
    names = Names()
    registry = everybody(200, seed=3)
    tables = [table_of(registry, seed, names) for seed in range(2)]
    series = start(tmp_path / "clinic", policy_of(Shape(output)))
    publish_tables(series, tables, registry)
    found = evaluate(series, tables, registry=registry, plan=QueryPlan(queries=200))
    assert [each.suppressed_share for each in found.releases] == [0, 0]
    assert all(each.errors.mean < 1 for each in found.releases)
