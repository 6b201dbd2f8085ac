"""Sensitive numbers and dates: classes that are intervals, and closeness, which protects every
interval of a width. Who is in which is worked out here from the raw tables alone."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from columns.records import everybody, publish_tables, start
from publishing import oracle
from serigraph.auditing import audit_releases, audit_series
from serigraph.errors import InputRefused, PolicyError, TableError
from serigraph.ledger import Series
from serigraph.policy import parse_policy, read_policy
from serigraph.policy.classes import Closeness, ProtectedClasses
from serigraph.publishing import history

WIDTH, DAYS = 20, 12
POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[sensitive.cost]
kind = "numeric"
[sensitive.cost.protected]
values = []
CLOSENESS_OF_COST
[sensitive.cost.protected.classes]
"dear" = [">= 960", "7.5"]
[sensitive.cost.protected.thresholds]
"dear" = "1/3"
[sensitive.operated]
kind = "date"
form = "delimited"
delimiter = "|"
[sensitive.operated.protected]
values = []
CLOSENESS_OF_DAYS
[sensitive.operated.protected.classes]
"in May" = [">= 2024-05-01 and < 2024-06-01"]
[classes."dear or in May".values]
cost = ["> 980"]
operated = [">= 2024-05-01 and < 2024-06-01"]
[guarantee]
threshold = "1/2"
minimum_group_size = 4
[strategy]
name = "constant"
releases = 2
[output]
OUTPUT
"""
NEAR = {
    "CLOSENESS_OF_COST": f'closeness = "{WIDTH}"',
    "CLOSENESS_OF_DAYS": f'closeness = "{DAYS} days"',
}
FORMS = ['form = "generalised"', 'form = "bucketised"', 'form = "bucketised"\napart = true']


def policy_of(output: str, *, is_close: bool = True) -> str:
    text = POLICY.replace("OUTPUT", output)
    for key, words in NEAR.items():
        text = text.replace(key, words if is_close else "")
    return text


def table_of(registry: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Costs and days of some of the registry's people; costs of neighbours are near each other."""
    draw = random.Random(seed)
    rows = []
    for person, age, sex in registry.iter_rows():
        if draw.random() > 0.9:
            continue
        cost = draw.choice(
            [None, (5 * age + 370 * seed) % 997 + draw.choice([0, 0.5]), draw.randint(0, 999)]
        )
        cost = 7.5 if draw.random() < 0.03 else cost
        days = [
            date(2024, 1, 1) + timedelta(draw.randrange(366)) for _ in range(draw.randint(0, 2))
        ]
        cell = "|".join(day.strftime("%d.%m.%Y") for day in days) or None
        rows.append((person, age, sex, cost, cell))
    schema = {"patient": pl.Int64, "age": pl.Int64, "sex": pl.String, "cost": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"operated": pl.String}, orient="row")


def places(table: pl.DataFrame) -> dict[str, dict[str, list[Fraction]]]:
    """By column the numbers, or days, of each person."""
    people = table["patient"].cast(pl.String).to_list()
    costs = [[] if each is None else [Fraction(each)] for each in table["cost"]]
    days = [
        [
            Fraction(date(int(y), int(m), int(d)).toordinal())
            for d, m, y in (x.split(".") for x in each.split("|"))
        ]
        if each
        else []
        for each in table["operated"]
    ]
    return {
        "cost": dict(zip(people, costs, strict=True)),
        "operated": dict(zip(people, days, strict=True)),
    }


def worst_interval(
    export: oracle.Export, tables: list[pl.DataFrame], column: str, width: int
) -> Fraction:
    """The largest probability that anybody is linked to any interval of the width, over all
    releases: those that begin at a value are the fullest ones."""
    own = [places(table)[column] for table in tables]
    worst = Fraction(0)
    for low in sorted({place for each in own for held in each.values() for place in held}):
        survival: dict[str, Fraction] = {}
        for held, groups in zip(own, export.groups, strict=True):
            for group in groups.values():
                n = sum(
                    here and any(low <= place <= low + width for place in held.get(who, []))
                    for who, here in group.members.items()
                )
                for who in group.members if n else ():
                    survival[who] = survival.get(who, Fraction(1)) * (1 - Fraction(n, group.size))
        worst = max(worst, 1 - min(survival.values(), default=Fraction(1)))
    return worst


@pytest.mark.parametrize("output", FORMS)
def test_every_interval_of_the_width_is_protected(output: str, tmp_path: Path) -> None:
    registry = everybody(140, seed=1)
    tables = [table_of(registry, seed) for seed in range(2)]
    found = {}
    for is_close in (True, False):
        series = start(tmp_path / f"series-{is_close}", policy_of(output, is_close=is_close))
        publish_tables(series, tables, registry)
        series.export(tmp_path / f"export-{is_close}")
        export = oracle.read_export(tmp_path / f"export-{is_close}", "cost")
        oracle.check_guarantee(export, {"dear": Fraction(1, 3)})
        days = oracle.read_export(tmp_path / f"export-{is_close}", "operated")
        oracle.check_guarantee(days)
        found[is_close] = [
            worst_interval(export, tables, "cost", WIDTH),
            worst_interval(days, tables, "operated", DAYS),
        ]
        audit = audit_series(series, raw=tables).audit
        assert audit.files_agree
        assert audit.over_all.pairs_above == 0
        check_classes(export, tables)
    assert max(found[True]) <= Fraction(1, 2)
    assert found[False][0] > Fraction(1, 2)  # without closeness the same people are given away


def check_classes(export: oracle.Export, tables: list[pl.DataFrame]) -> None:
    for groups, table in zip(export.groups, tables, strict=True):
        held = places(table)["cost"]
        for group in groups.values():
            dear = [
                who for who in group.members if any(x >= 960 or x == 7.5 for x in held.get(who, []))
            ]
            assert group.values.get("dear", 0) == len(dear)


def test_an_export_spells_intervals_and_files_are_audited(tmp_path: Path) -> None:
    registry = everybody(140, seed=2)
    tables = [table_of(registry, seed) for seed in range(2)]
    series = start(tmp_path / "clinic", policy_of(FORMS[0]))
    publish_tables(series, tables, registry)
    series.export(tmp_path / "export")
    classes = pl.read_parquet(tmp_path / "export" / "classes.parquet")
    listed = set(classes.select("class_column", "class", "column", "value").rows())
    assert ("cost", "dear", "cost", ">= 960") in listed
    assert (None, "dear or in May", "cost", "> 980") in listed
    assert ("cost", "from 900 to below 925", "cost", ">= 900 and < 925") in listed
    assert classes.columns[-2:] == ["column", "value"]
    releases = [series.path / "releases" / record.label for record in series.releases()]
    policy = read_policy(series.path / "policy.toml")
    theirs = audit_releases(
        releases, policy, raw=tables, registry=registry, tolerate=["overlaps"]
    ).audit
    assert theirs.over_all.largest == audit_series(series).audit.over_all.largest
    assert history(series.path, 7, "cost: from 900 to below 925").threshold == Fraction(1, 2)
    with pytest.raises(InputRefused, match="not protected"):
        history(series.path, 7, "cost: from 901 to below 951")


@pytest.mark.parametrize("seed", range(5))
def test_every_interval_lies_in_one_that_closeness_makes(seed: int) -> None:
    draw = random.Random(seed)
    width = Fraction(draw.randint(1, 400), 10 ** draw.randint(0, 2))
    days = draw.randint(1, 40)
    for text, kind, all_days in (
        (str(float(width)), "numeric", False),
        (f"{days} days", "date", True),
    ):
        closeness = Closeness.of(text, kind)  # type: ignore[arg-type]
        for _ in range(200):
            low = (
                Fraction(draw.randint(500_000, 730_000))
                if all_days
                else Fraction(draw.randint(-9999, 9999), 7)
            )
            high = low + closeness.width
            inside = low + (closeness.width if draw.random() < 0.5 else 0)
            common = set(closeness.around(low)) & set(closeness.around(high))
            assert common
            assert common & set(closeness.around(inside))


def test_a_value_has_one_form_and_classes_their_members() -> None:
    policy = parse_policy(policy_of(FORMS[0]), "policy.toml", ".")
    rules = ProtectedClasses(policy.frozen())
    members = rules.members(["cost: 7.5", "cost: 960", "cost: 959.99", "operated: 2024-05-31"])
    assert members["cost: dear"] == ("cost: 7.5", "cost: 960")
    assert members["operated: in May"] == ("operated: 2024-05-31",)
    assert members["dear or in May"] == ("cost: > 980", "operated: 2024-05-31")
    assert rules.members([])["cost: dear"] == ("cost: 7.5", "cost: >= 960")


WRONG = [
    ('"7.5"]', '"7.50"]', "'7.50' is never a value of this column: write it as a number"),
    ('">= 960"', '">= much"', "'>= much' is never a value"),
    ('closeness = "20"', 'closeness = "0"', "a width is a decimal number above 0"),
    ('closeness = "12 days"', 'closeness = "12"', 'a number of days, such as "30 days"'),
    (
        'kind = "numeric"\n[sensitive.cost.protected]',
        "[sensitive.cost.protected]",
        "closeness is of numbers",
    ),
    ('"dear" = [', '"from 0 to below 50" = [', "has the form of those of closeness"),
    ("values = []\nclo", 'values = ["5.0"]\nclo', "'5.0' is never a value"),
    (
        'operated = [">= 2024-05-01',
        'operated = [">= May',
        "is never a value of this column: write it as 2024",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG)
def test_wrong_intervals_are_refused(right: str, wrong: str, message: str) -> None:
    text = policy_of(FORMS[0])
    assert right in text
    with pytest.raises(PolicyError) as refused:
        parse_policy(text.replace(right, wrong, 1), "policy.toml", ".")
    assert any(message in problem for problem in refused.value.problems)


ONE = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "cost"
kind = "numeric"
[protected]
values = []
closeness = "100"
[protected.classes]
"dear" = [">= 960"]
[protected.persistence]
default = "transient"
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 1
"""


def test_one_column_of_numbers(tmp_path: Path) -> None:
    table = table_of(everybody(200, seed=3), 1).select("patient", "age", "cost")
    series = start(tmp_path / "clinic", ONE)
    (found,) = publish_tables(series, [table])
    classes = found.value_list.classes
    assert {"dear", "from 900 to below 1025"} <= classes.keys()
    assert all(float(each.name) >= 960 for each in classes["dear"])
    assert not found.value_list.unprotected
    assert audit_series(series).audit.files_agree
    as_text = table.with_columns(pl.col("cost").cast(pl.String).str.replace(".", ",", literal=True))
    (again,) = publish_tables(start(tmp_path / "other", ONE), [as_text])
    assert again.value_list == found.value_list


def test_what_is_no_number_and_an_interval_that_nobody_is_in_are_refused(tmp_path: Path) -> None:
    table = table_of(everybody(200, seed=3), 1).select("patient", "age", "cost")
    words = table.with_columns(
        pl.when(pl.col("patient") == 3).then(pl.lit("free")).otherwise("cost").alias("cost")
    )
    series = start(tmp_path / "clinic", ONE)
    with pytest.raises(TableError) as refused:
        publish_tables(series, [words])
    assert "the table: column 'cost': text where numbers are expected" in refused.value.problems[0]
    beyond = start(tmp_path / "beyond", ONE.replace(">= 960", ">= 5000"))
    with pytest.raises(PolicyError) as unheld:
        publish_tables(beyond, [table])
    assert unheld.value.problems == ("'>= 5000'",)
    persisting = ONE.replace('default = "transient"', 'default = "any"')
    with pytest.raises(PolicyError) as wrong:
        parse_policy(persisting, "policy.toml", ".")
    assert any("cannot be protected by intervals" in each for each in wrong.value.problems)
    assert series.releases() == Series.open(beyond.path).releases() == ()
