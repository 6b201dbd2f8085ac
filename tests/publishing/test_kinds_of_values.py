"""Sets of values in all forms, classes, thresholds of their own and rules of protection."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from publishing import oracle
from publishing.checking import Meaning, check_series, exported, publish_all
from publishing.clinic import COMMON, RARE, Clinic, clinic, new_series, policy_text

FORMS = ("generalised", "bucketised")
DISEASES = RARE[3:7]
CLASS = "any of four"


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=4, people=500, registered=1200, seed=6)


def with_sets(hospital: Clinic, seed: int = 5) -> list[pl.DataFrame]:
    """The tables with a second value for a third of the people, as a list column."""
    draw = random.Random(seed)
    values = [*COMMON * 4, *RARE]
    return [
        table.with_columns(
            diagnosis=pl.Series(
                [
                    [value] if draw.random() > 1 / 3 else [draw.choice(values), value]
                    for value in table["diagnosis"]
                ]
            )
        )
        for table in hospital.tables
    ]


def sets_of(table: pl.DataFrame) -> dict[str, set[str]]:
    return {person: set(values) for person, values in table.select("patient", "diagnosis").rows()}


@pytest.mark.parametrize("output", FORMS)
def test_sets_say_the_same_in_every_form(hospital: Clinic, tmp_path: Path, output: str) -> None:
    lists = with_sets(hospital)
    delimited = [t.with_columns(pl.col("diagnosis").list.join(" | ")) for t in lists]
    rows = [table.explode("diagnosis").sample(fraction=1, shuffle=True, seed=1) for table in lists]
    held = [sets_of(table) for table in lists]
    exports = []
    for number, (form, tables) in enumerate(
        {
            'form = "list"': lists,
            'form = "delimited"\ndelimiter = "|"': delimited,
            'form = "rows"': rows,
        }.items()
    ):
        text = policy_text(sensitive=f'column = "diagnosis"\n{form}', output=f'form = "{output}"')
        series = new_series(tmp_path / f"clinic-{number}", text)
        releases = publish_all(series, tables)
        folder = exported(series, tmp_path / f"export-{number}")
        exports.append(check_series(series, tables, exported=folder, sets=held))
        if output == "generalised":
            table = releases[0].tables["table"]
            assert table.schema["diagnosis"] == pl.List(pl.String)
            flat = pl.read_csv(releases[0].folder / "table.csv")
            assert flat["diagnosis"].to_list() == table["diagnosis"].list.join(";").to_list()
    assert exports[0] == exports[1] == exports[2]


@pytest.mark.parametrize("output", FORMS)
def test_a_class_is_protected_as_a_value_of_its_own(
    hospital: Clinic, tmp_path: Path, output: str
) -> None:
    def counted_as(value: str) -> set[str]:
        names = {CLASS} if value in DISEASES else set()
        return names if value in (*COMMON, RARE[3], CLASS) else names | {value}

    tables = with_sets(hospital)
    own = {CLASS: Fraction(1, 5), RARE[4]: Fraction(1, 4)}
    reached = []
    for number, thresholds in enumerate([{}, own]):
        text = policy_text(
            protected=f"except = {[*COMMON, RARE[3]]}\n"
            f'[protected.classes]\n"{CLASS}" = {list(DISEASES)}\n[protected.thresholds]\n'
            + "".join(f'"{name}" = "{each}"\n' for name, each in thresholds.items()),
            sensitive='column = "diagnosis"\nform = "list"',
            strategy='name = "constant"\nreleases = 4',
            output=f'form = "{output}"',
        )
        series = new_series(tmp_path / f"clinic-{number}", text)
        publish_all(series, tables, hospital.registry)
        export = check_series(
            series,
            tables,
            hospital.registry,
            exported=exported(series, tmp_path / f"export-{number}"),
            meaning=Meaning(counted_as=counted_as, thresholds=thresholds),
            sets=[sets_of(table) for table in tables],
        )
        *_, largest = oracle.largest_by_release(export)
        assert set(largest) >= {CLASS, RARE[4], RARE[5]}
        assert RARE[3] not in largest  # of the class, but not protected by itself
        reached.append(largest)
    for name, threshold in own.items():
        assert reached[1][name] <= threshold < reached[0][name]


def test_a_policy_chooses_what_is_protected(hospital: Clinic, tmp_path: Path) -> None:
    tables = hospital.tables[:2]
    chosen = RARE[2:5]
    held: dict[str, set[str]] = {}
    for name, protected in {
        "values": f"values = {list(chosen)}",
        "file": 'file = "listed.txt"',
    }.items():
        listed = {"listed.txt": ("\n".join(chosen) + "\n").encode()}
        series = new_series(tmp_path / name, policy_text(protected=protected), listed)
        publish_all(series, tables)
        meaning = Meaning(counted_as=lambda value: (value,) if value in chosen else ())
        folder = exported(series, tmp_path / f"{name}-export")
        export = check_series(series, tables, exported=folder, meaning=meaning)
        held[name] = {value for each in oracle.largest_by_release(export) for value in each}
    assert held["values"] == held["file"] == set(chosen)


def test_the_rarest_share_is_that_of_the_first_release(hospital: Clinic, tmp_path: Path) -> None:
    first, second = hospital.tables[0], hospital.tables[1]
    later = second.with_columns(
        diagnosis=pl.when(pl.int_range(pl.len()) < 3)
        .then(pl.lit("unheard of"))
        .otherwise("diagnosis")
    )
    people = first["diagnosis"].value_counts().sort("count", "diagnosis")
    rarest = people["diagnosis"].head(-(-people.height // 2)).to_list()
    common = set(people["diagnosis"]) - set(rarest)
    series = new_series(tmp_path / "clinic", policy_text(protected='rarest = "50%"'))
    publish_all(series, [first, later])
    meaning = Meaning(counted_as=lambda value: () if value in common else (value,))
    folder = exported(series, tmp_path / "export")
    export = check_series(series, [first, later], exported=folder, meaning=meaning)
    before, after = oracle.largest_by_release(export)
    assert set(before) == set(rarest)
    assert "unheard of" in after  # what turns up later is protected
    assert not common & set(after)  # also if it was rare in the second release


@pytest.mark.parametrize("output", FORMS)
def test_people_without_a_value_are_published_without_one(
    hospital: Clinic, tmp_path: Path, output: str
) -> None:
    tables = [
        table.with_columns(diagnosis=pl.when(pl.int_range(pl.len()) % 9 > 0).then("diagnosis"))
        for table in hospital.tables[:2]
    ]
    series = new_series(tmp_path / "clinic", policy_text(output=f'form = "{output}"'))
    releases = publish_all(series, tables)
    check_series(series, tables, exported=exported(series, tmp_path / "export"))
    without = tables[0]["diagnosis"].null_count()
    if output == "generalised":
        assert releases[0].tables["table"]["diagnosis"].null_count() == without > 0
    else:
        assert releases[0].tables["quasi_identifiers"].height == tables[0].height
        assert releases[0].tables["sensitive"]["count"].sum() == tables[0].height - without
