"""Records of several columns whose values persist, in all worlds.

Every world of a small population is published by the arrangement that publishes real tables, and
recoded as real tables are. People keep plain cells and unprotected values for good, so that whoever
reads the releases knows which records belong to one person. Still nobody was published as a holder
of a value of any column, or of a class across columns, with a probability above the threshold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from cohorts.people import population
from serigraph.cohorts import Arrangement, Rules
from serigraph.model import Population
from serigraph.recoding import RecordShape, records_of_groups
from serigraph.recoding.records import ShownColumn
from serigraph.runtime.randomness import SeededRandomness
from theorems.cohort_worlds import Believed, Ledger, Mechanism, Outcome, Publication, believed

HIV, AZT, TREATED = "diagnosis: HIV", "drug: AZT", "treated"
NAMES = (HIV, AZT, TREATED)
QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)
FOUR = range(4)


class Record(NamedTuple):
    """What the table has of a person: a diagnosis, a set of drugs, and a plain cell."""

    diagnosis: str
    drugs: tuple[str, ...]
    cost: int | None

    def values(self) -> list[str]:
        named = [f"diagnosis: {self.diagnosis}"] if self.diagnosis else []
        return named + [f"drug: {drug}" for drug in self.drugs]


WELL = Record("flu", (), 10)
PAIN = Record("flu", ("aspirin",), 20)
ILL = Record("HIV", ("AZT", "aspirin"), 20)
MILD = Record("HIV", (), 10)
TREATED_ONLY = Record("flu", ("AZT",), None)
Law = Mapping[tuple[Record | None, ...], int]

LAWS: dict[str, Law] = {
    "for life": {(WELL, WELL): 3, (ILL, ILL): 2},
    "new cases keep their cells": {(WELL, WELL): 3, (PAIN, ILL): 1, (WELL, MILD): 2},
    "one column and then the other": {(PAIN, PAIN): 4, (TREATED_ONLY, MILD): 1, (ILL, PAIN): 2},
    "holders come seldom": {(WELL, WELL): 3, (PAIN, None): 1, (None, ILL): 3},
    "holders stay away afterwards": {(WELL, WELL): 4, (ILL, None): 2, (ILL, ILL): 1},
}


def with_cells(*held: tuple[Sequence[str], int]) -> Law:
    """What people hold in each release, with a weight, beside cells that they keep and that have
    nothing to do with it."""
    found: dict[tuple[Record | None, ...], int] = {}
    for (kept, often), (over_time, weight) in product([(WELL, 2), (PAIN, 1)], held):
        seen = tuple(
            kept._replace(
                diagnosis="HIV" if "HIV" in values else kept.diagnosis,
                drugs=(*kept.drugs, *(["AZT"] if "AZT" in values else [])),
            )
            for values in over_time
        )
        found[seen] = often * weight
    return found


LAWS_OF_ATTENDERS: dict[str, Law] = {
    "for life": with_cells((["", ""], 3), (["HIV AZT", "HIV AZT"], 1)),
    "new cases": with_cells((["", ""], 2), (["", "HIV"], 1)),
    "one column and then the other": with_cells((["", ""], 4), (["HIV", "AZT"], 1)),
}


@dataclass(frozen=True)
class Records(Mechanism):
    """Publishes records: whole, or column by column."""

    apart: bool = False
    _recoded: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)

    def _table(self, now: Mapping[int, Any]) -> Population:
        here = {person: record for person, record in now.items() if record is not None}
        people = population(
            list(now),
            {person: record.values() for person, record in here.items()},
            away=[person for person in now if person not in here],
            persisting=[HIV, AZT],
            classes={TREATED: [HIV, AZT]},
            threshold=next(iter(self.rules.thresholds.values())),
        )
        costs = [record.cost for _, record in sorted(here.items())]
        return replace(
            people,
            plain=pl.DataFrame({"cost": pl.Series(costs, dtype=pl.Int64)}),
            keeps_records_whole=True,
        )

    def _noted(self, ledger: Ledger, release: int, made: Arrangement) -> Outcome:
        public, after = super()._noted(ledger, release, made)
        group = made.cohort if made.group is None else made.group
        of_person = dict(zip(made.population.ids, group.tolist(), strict=True))
        rows = self._rows(made.population, group)
        shown = tuple((members, n, rows[of_person[members[0]]]) for members, n, _ in public)
        return shown, after  # type: ignore[return-value]

    def _rows(self, people: Population, group: NDArray[np.int64]) -> Mapping[int, tuple[str, ...]]:
        """What the release shows of each group."""
        if not people.size:
            return {}
        held, costs = people.values.to_list(), people.plain["cost"].to_list()
        key = str((people.ids.to_list(), people.present, group, held, costs))
        if key not in self._recoded:
            columns = ShownColumn("diagnosis", has_one_value=True), ShownColumn("drug", False)
            shape = RecordShape(columns, is_qualified=True, apart=self.apart)
            found = defaultdict(list)
            for number, *row in records_of_groups(people, group, shape, SeededRandomness(1)).rows():
                found[number].append(repr(row))
            rows = {number: tuple(sorted(found[number])) for number in group.tolist()}
            self._recoded[key] = rows
        return self._recoded[key]


def rules(threshold: Fraction, size: int, least: int = 2) -> Rules:
    return Rules(size, 0, least, dict.fromkeys(NAMES, threshold))


def worst(found: dict[Publication, Believed]) -> Fraction:
    """The largest probability of anybody; all who are alike have the same."""
    largest = Fraction(0)
    for each in found.values():
        for people, value in product(each.classes, NAMES):
            chances = {each.probability((person, value)) for person in people}
            assert len(chances) == 1
            largest = max(largest, *chances)
    return largest


@pytest.mark.parametrize("name", LAWS)
def test_nobody_is_above_the_threshold_in_a_standing_cohort(name: str) -> None:
    assert worst(believed(Records(rules(HALF, 4)), [FOUR, FOUR], [LAWS[name]])) == HALF  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["for life", "holders stay away afterwards"])
def test_nor_where_somebody_leaves_the_registry(name: str) -> None:
    registries = [FOUR, range(1, 4)]
    assert worst(believed(Records(rules(HALF, 4)), registries, [LAWS[name]])) == HALF  # type: ignore[list-item]


@pytest.mark.parametrize(("threshold", "apart"), [(QUARTER, False), (HALF, True)])
def test_nobody_is_above_the_threshold_where_values_are_shown_once(
    threshold: Fraction, apart: bool
) -> None:
    mechanism = Records(rules(threshold, 2), "once", apart=apart)
    laws = LAWS_OF_ATTENDERS.items()
    reached = {name: worst(believed(mechanism, [FOUR, FOUR], [law])) for name, law in laws}  # type: ignore[list-item]
    assert max(reached.values()) == threshold, reached


def test_plain_cells_beside_a_value_shown_once_would_tell_whose_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two halves of the people were published by themselves before, each with its plain cells."""

    def found() -> Fraction:
        mechanism = Records(rules(QUARTER, 2), "once")
        of_all = believed(mechanism, [FOUR, FOUR], [LAWS_OF_ATTENDERS["new cases"]])  # type: ignore[list-item]
        pairs = product(of_all.values(), FOUR, NAMES)
        return max(each.probability((person, name)) for each, person, name in pairs)

    assert found() == QUARTER
    monkeypatch.setattr(Population, "without_plain_cells", lambda self, _people: self)
    assert found() == HALF
