"""The tables of Figures 1 to 4 fit each other, and give the probabilities that the text states."""

from __future__ import annotations

import csv
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from serigraph.privacy import breach_probability
from serigraph.records import Exposure
from theorems import possible_worlds
from theorems.oracle_series import exposures_of
from theorems.possible_worlds import Group, Series

Row = dict[str, str]
HERE = Path(__file__).parent


def rows(name: str) -> list[Row]:
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_covered(person: Row, published: Row) -> bool:
    if person["sex"] not in published["sex"].split("/"):
        return False
    digits = zip(person["zipcode"], published["zipcode"], strict=True)
    return all(shown in ("*", digit) for digit, shown in digits)


def groups_of(raw: str, published: str) -> tuple[Group, ...]:
    """The groups of a published table, with the people of the raw table that fall into them."""
    by_region: dict[tuple[str, str], list[Row]] = {}
    for row in rows(published):
        by_region.setdefault((row["sex"], row["zipcode"]), []).append(row)
    return tuple(
        Group(
            tuple(person["id"] for person in rows(raw) if is_covered(person, members[0])),
            tuple(row["disease"] for row in members),
        )
        for members in by_region.values()
    )


def series_of(figure: int) -> Series:
    return tuple(
        groups_of(f"figure_1_{table}", f"figure_{figure}_{table}") for table in ("t1", "t2")
    )


@pytest.mark.parametrize("figure", [2, 4])
@pytest.mark.parametrize("table", ["t1", "t2"])
def test_published_tables_say_the_truth(figure: int, table: str) -> None:
    disease = {person["id"]: person["disease"] for person in rows(f"figure_1_{table}")}
    groups = groups_of(f"figure_1_{table}", f"figure_{figure}_{table}")
    assert Counter(person for group in groups for person in group.people) == Counter(list(disease))
    for group in groups:
        assert Counter(disease[person] for person in group.people) == Counter(group.values)


@pytest.mark.parametrize(("figure", "expected"), [(2, Fraction(3, 4)), (4, Fraction(7, 16))])
def test_what_an_adversary_learns_of_the_second_person(figure: int, expected: Fraction) -> None:
    series = series_of(figure)
    exposures: list[Exposure] = exposures_of(series, "o2", "chlamydia")
    assert breach_probability(exposures) == expected
    own = possible_worlds.own_groups(series, "o2")
    assert possible_worlds.breach_probability(own, "o2", "chlamydia") == expected


def test_figure_3_lists_the_worlds_of_the_first_two_people() -> None:
    zipcodes = {person["zipcode"]: person["id"] for person in rows("figure_1_t1")}
    printed: dict[str, dict[tuple[str, str], str]] = {}
    for row in rows("figure_3_worlds"):
        cell = (row["table"], zipcodes[row["zipcode"]])
        printed.setdefault(row["world"], {})[cell] = row["disease"]
    enumerated = [
        {
            (f"T{j}", person): held
            for j, table in enumerate(world, 1)
            for person, held in table.items()
        }
        for world in possible_worlds.worlds(possible_worlds.own_groups(series_of(2), "o2"))
    ]
    assert len(printed) == len(enumerated) == 4
    assert all(world in enumerated for world in printed.values())
