"""Beyond the paper: cohorts keep the promise for values that persist, in all worlds.

Every world of a small registry is published by the arrangement that publishes real tables, with
every draw. Whatever law values follow, and whether or not presence depends on them, nobody was
published as a holder with a probability above the threshold, given everything that was published;
and those who are alike have the same probability. Ledgers that forget break it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Literal

import polars as pl
import pytest

import serigraph
from serigraph.cohorts import Rules
from theorems.cohort_worlds import (
    PRESENCE,
    Belief,
    Believed,
    Law,
    Mechanism,
    Publication,
    believed,
    law,
    laws,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
THREE, FOUR, FIVE = range(3), range(4), range(5)
REGISTRIES = {
    "nobody leaves": [FOUR, FOUR],
    "one leaves": [FOUR, range(1, 4)],
    "one leaves and comes back": [FOUR, range(1, 4), FOUR],
    "a newcomer waits": [FOUR, FIVE],
    "newcomers form a cohort": [FOUR, FIVE, range(8)],
    "two of five leave": [FIVE, range(2, 5)],
}
WORLDS = 5_000  # no more are enumerated, so that everything takes less than a minute


def rules(threshold: Fraction, size: int, known: int = 0, names: str = "s") -> Rules:
    return Rules(size, known, 1, dict.fromkeys(names.split(), threshold))


def worst(found: dict[Publication, Believed], *, known: bool = False) -> Fraction:
    """The largest probability of anybody, given one of the publications."""
    chances = [Fraction(0)]
    for each in found.values():
        values = {value for shown in each.shown for _, value in shown}
        for people, value in product(each.classes, values):
            for person in people:
                others = [(other, value) for other in people - {person}] if known else [None]
                chances += [each.probability((person, value), never=never) for never in others]
    return max(chances)


def beliefs(registries: Sequence[Sequence[int]]) -> Sequence[tuple[str, Belief]]:
    releases, people = len(registries), len({i for each in registries for i in each})
    pure = {
        f"{name}, {presence}": law(holding, chances)
        for name, holding in laws(releases).items()
        for presence, chances in PRESENCE.items()
    }
    small = {name: each for name, each in pure.items() if len(each) ** people <= WORLDS}
    mixed = [each for name, each in small.items() if name.startswith(("permanent", "exclusive"))]
    is_small = len({seen for each in mixed for seen in each}) ** people <= WORLDS
    return [(name, [each]) for name, each in small.items()] + [("mixed", mixed)] * is_small


@pytest.mark.parametrize("name", REGISTRIES)
def test_nobody_is_above_the_threshold_in_a_standing_cohort(name: str) -> None:
    registries = REGISTRIES[name]
    mechanism = Mechanism(rules(HALF, 4))
    reached = Fraction(0)
    for about, belief in beliefs(registries):
        found = believed(mechanism, registries, belief, most=4)
        highest = worst(found)
        assert highest <= HALF, about
        reached = max(reached, highest)
        for each in found.values():
            for people in each.classes:
                chances = {each.probability((person, "s")) for person in people}
                assert len(chances) == 1, about
    assert reached == HALF  # the limit is used


def test_other_thresholds_and_known_members() -> None:
    always = law(laws(2)["permanent"], PRESENCE["everybody"])
    found = believed(Mechanism(rules(THIRD, 6)), [range(6), range(1, 6)], [always], most=2)
    assert worst(found) == THIRD
    for presence in ("everybody", "holders seldom"):
        belief = [law(laws(2)["permanent"], PRESENCE[presence])]
        found = believed(Mechanism(rules(HALF, 4, known=1)), [FOUR, range(1, 4)], belief)
        assert worst(found, known=True) <= HALF
        assert worst(found) <= THIRD


def test_classes_of_values_and_values_that_change() -> None:
    """Members of a class may turn from one of its values to the other."""
    mechanism = Mechanism(
        rules(HALF, 3, names="both r s"), values=("r", "s"), classes={"both": ["r", "s"]}
    )
    changing: Law = {("", ""): 4, ("r", "r"): 1, ("s", "s"): 1, ("r", "s"): 2, ("", "r"): 1}
    for registries in ([THREE, THREE], [THREE, range(1, 3)]):
        assert worst(believed(mechanism, registries, [changing], most=2)) <= HALF
    absent: Law = {(None, ""): 1, ("", None): 1, ("r", "s"): 1, ("s", None): 1, (None, "r"): 1}
    assert worst(believed(mechanism, [THREE, THREE], [absent], most=2)) <= HALF


@pytest.mark.parametrize("persistence", ["any", "permanent"])
@pytest.mark.parametrize(
    "present",
    [
        [FOUR, FOUR, FOUR],
        [FOUR, THREE, FOUR],
        [FIVE, THREE, FOUR],
        [FOUR, range(6)],
    ],
)
def test_nobody_is_above_the_threshold_where_values_are_shown_once(
    present: Sequence[Sequence[int]], persistence: Literal["any", "permanent"]
) -> None:
    """Everybody knows who is present, and it has nothing to do with values."""
    people = len({i for each in present for i in each})
    for size, threshold in [(2, HALF), (3, THIRD)]:
        mechanism = Mechanism(
            rules(threshold, size),
            "once",
            persistence=persistence,
        )
        for name, holding in laws(len(present)).items():
            belief = law(holding, PRESENCE["everybody"])
            if len(belief) ** people <= WORLDS // 6:
                found = believed(mechanism, present, [belief], most=3)
                assert worst(found) <= threshold, name


@pytest.mark.parametrize("persistence", ["any", "permanent"])
def test_new_cases_tell_nothing_where_values_are_shown_once(
    persistence: Literal["any", "permanent"],
) -> None:
    """If those who were shown once came again, a release that is not refused would tell how many of
    those present hold the value now, and so whether the absent do."""
    for present in ([FOUR, THREE], [FIVE, THREE, FOUR]):
        belief = [law(laws(len(present))["new cases"], PRESENCE["everybody"])]
        mechanism = Mechanism(rules(HALF, 2), "once", persistence=persistence)
        assert worst(believed(mechanism, present, belief, most=3)) == HALF


def test_companions_are_needed() -> None:
    """A ledger that forgets who was shown lets a leaver go alone."""
    belief = [law({("", ""): 5, ("s", "s"): 2}, PRESENCE["everybody"])]
    registries = [FOUR, range(1, 4)]
    assert worst(believed(Mechanism(rules(HALF, 4)), registries, belief)) == HALF
    forgets = Mechanism(rules(HALF, 4), forgets="who was shown")
    assert worst(believed(forgets, registries, belief)) == 1


def test_cohorts_without_a_record_are_needed() -> None:
    """If nobody of a cohort is present, they are not like newcomers: where holders come more often
    than others, they are probably well."""
    belief = [law({("", ""): 5, ("s", "s"): 2}, PRESENCE["holders always"])]
    registries = [FOUR, FIVE]
    assert worst(believed(Mechanism(rules(HALF, 4)), registries, belief)) == HALF
    forgets = Mechanism(rules(HALF, 4), forgets="cohorts without a record")
    assert worst(believed(forgets, registries, belief)) == 1


POLICY = """
version = 1
[person]
id = "id"
type = "integer"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "value"
[protected]
values = ["s"]
unheld = "allow"
[protected.persistence]
default = "any"
[guarantee]
threshold = "1/2"
cohort_size = 4
[output]
form = "bucketised"
files = ["parquet"]
"""


def test_the_ledger_keeps_cohorts_without_a_record(tmp_path: object) -> None:
    everybody = pl.DataFrame({"id": range(9), "age": [1, 1, 2, 2, 71, 71, 72, 72, 71]})
    series = serigraph.Series.create(
        f"{tmp_path}/series",
        {"policy.toml": POLICY.encode()},
    )
    well = everybody.head(4).with_columns(value=pl.lit("none"))
    serigraph.publish(well, series, registry=everybody.head(8), label="1", new_people=True)
    ill = everybody.tail(1).with_columns(value=pl.lit("s"))
    second = serigraph.publish(
        pl.concat([well, ill]), series, registry=everybody, label="2", new_people=True
    )
    values = second.tables["sensitive"]["value"].to_list()
    assert "s" not in values  # one newcomer waits; four people were in the registry before
