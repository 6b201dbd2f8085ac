"""Who has to be in a release with cohorts, in which cohort, and who retires."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Population
from serigraph.runtime.ordering import are_in_order
from serigraph.verification.cutting import cut_blindly
from serigraph.verification.earlier import places_among
from serigraph.verification.proposal import ProposedCohorts
from serigraph.verification.recorded_cohorts import CohortTerms, RecordedCohorts
from serigraph.verification.words import distinct


@dataclass(frozen=True)
class Roll:
    """Everybody, recorded or in the table: recorded people come first, in their order, then a place
    for each person of the table, which is empty if the person is recorded."""

    cohort: NDArray[np.int64]  # of each person after this release, or -1
    retired: NDArray[np.int64]  # the number of a release, ``now`` if it is this one, or 0
    now: int
    in_table: NDArray[np.int64]  # the place here of each person of the table
    row: NDArray[np.int64]  # the place in the table of each person of the release
    has_left: NDArray[np.bool_]  # of recorded people: live, and no longer in the table

    @property
    def in_release(self) -> NDArray[np.int64]:
        """The place here of each person of the release."""
        return self.in_table[self.row]


def call_the_roll(
    table: Population,
    population: Population,
    proposed: ProposedCohorts,
    recorded: RecordedCohorts,
    where: str,
) -> Roll:
    """Find everybody; refuses cohorts that contradict those recorded."""

    def refuse_if(is_wrong: bool | np.bool_, what: str) -> None:
        if is_wrong:
            raise ImpossibleState(what, where=where)

    refuse_if(
        len(proposed.cohort) != population.size, "the proposed cohorts do not cover everybody"
    )
    refuse_if(
        not (are_in_order(table.ids) and are_in_order(population.ids)), "the ids do not ascend"
    )
    row = rows_of(table.ids, population.ids)
    refuse_if((row < 0).any(), "a release shows somebody who is not in its table")
    known, leaving = recorded_places(recorded, table.ids, proposed.retired)
    people = len(recorded.ids)
    in_table = np.where(known >= 0, known, people + np.arange(table.size))
    cohort = np.concatenate([recorded.cohort, np.full(table.size, -1)])
    retired = np.concatenate([recorded.retired, np.zeros(table.size, dtype=np.int64)])
    now = int(retired.max(initial=0)) + 1

    refuse_if((leaving < 0).any(), "somebody retires who was never in a release")
    refuse_if(len(distinct(leaving)) < len(leaving), "somebody retires twice")
    refuse_if(
        not recorded.is_live[leaving].all(),
        "somebody retires who is in no cohort or has retired before",
    )
    retired[leaving] = now
    in_release = in_table[row]
    was = cohort[in_release]
    refuse_if((retired[in_release] > 0).any(), "somebody who retired is in the release")
    refuse_if(((was >= 0) & (proposed.cohort != was)).any(), "a member was moved to another cohort")
    refuse_if(
        ((was < 0) & (proposed.cohort < recorded.formed)).any(),
        "somebody new was put into a cohort that was formed before",
    )
    is_in_table = np.zeros(people, dtype=np.bool_)
    is_in_table[known[known >= 0]] = True
    cohort[in_release] = proposed.cohort
    return Roll(cohort, retired, now, in_table, row, recorded.is_live & ~is_in_table)


def check_attendance(
    roll: Roll, table: Population, recorded: RecordedCohorts, terms: CohortTerms, where: str
) -> None:
    """Refuse if somebody is missing who must be in the release, or retires neither now nor before
    although the person has left; and if newcomers were not treated as all of them must be."""
    if table.outside_registry:
        raise GuaranteeExceeded(
            f"{table.outside_registry} people of the table are not in the registry: who is there "
            "would be known of them",
            where=where,
            remedy="list everybody of the table in the registry",
        )
    if roll.has_left.any() and not terms.may_depart:
        raise GuaranteeExceeded(
            "members of a cohort have left the registry, and leaving may say what they hold",
            where=where,
            remedy='keep them in the registry, or state departures = "unrelated" in the policy',
        )
    if (roll.has_left & (roll.retired[: len(recorded.ids)] == 0)).any():
        raise ImpossibleState("a member left the registry and does not retire", where=where)
    is_released = np.zeros(table.size, dtype=np.bool_)
    is_released[roll.row] = True
    before = np.concatenate([recorded.cohort, np.full(table.size, -1)])[roll.in_table]
    is_new = before < 0
    must_be = ~is_new & (roll.retired[roll.in_table] == 0)
    if (must_be & ~is_released).any():
        raise ImpossibleState("a member of a cohort is missing from the release", where=where)
    newcomers = np.flatnonzero(is_new)
    if len(newcomers) < terms.size:
        if is_released[newcomers].any():
            raise GuaranteeExceeded(
                f"fewer newcomers than a cohort needs ({terms.size}) would be in the release",
                where=where,
                remedy="let them wait for others",
            )
        return
    if not is_released[newcomers].all():
        raise ImpossibleState("a newcomer is missing from the release", where=where)
    positions = [domain.positions() for domain in table.domains]
    again = cut_blindly(table.codes[:, newcomers], positions, terms.size)
    if not are_same_parts(roll.cohort[roll.in_table[newcomers]], again):
        raise ImpossibleState(
            "the new cohorts are not those that quasi-identifiers alone make", where=where
        )


def check_groups(cohort: NDArray[np.int64], group: NDArray[np.int64], where: str) -> None:
    """Refuse if the people of a cohort are in several groups."""
    if not len(cohort):
        return
    of_cohort = np.zeros(int(cohort.max()) + 1, dtype=np.int64)
    of_cohort[cohort] = group
    if (of_cohort[cohort] != group).any():
        raise ImpossibleState("the people of a cohort are in two groups", where=where)


def rows_of(ids: pl.Series, others: pl.Series) -> NDArray[np.int64]:
    """The place of each of the others among ids, or -1; both ascend."""
    if ids.dtype != others.dtype or not len(ids):
        return np.full(len(others), -1)
    if len(ids) == len(others) and ids.equals(others):
        return np.arange(len(ids))
    place = ids.search_sorted(others).to_numpy().astype(np.int64)
    place = np.minimum(place, len(ids) - 1)
    return np.where((ids.gather(place) == others).to_numpy(), place, -1)


def recorded_places(
    recorded: RecordedCohorts, ids: pl.Series, retired: pl.Series
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where people of the table, and people who retire, are among those recorded, or -1."""
    if not len(recorded.ids):
        return np.full(len(ids), -1), np.full(len(retired), -1)
    if not len(retired):
        return places_among(recorded.ids, ids), np.empty(0, dtype=np.int64)
    place = places_among(recorded.ids, pl.concat([ids, retired.cast(ids.dtype)]))
    return place[: len(ids)], place[len(ids) :]


def are_same_parts(number: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether two ways of numbering people put the same people together."""
    number = number - number.min()
    if number.max() > 4 * len(number):
        return False  # numbers far apart: new cohorts are numbered one after the other
    to_other = np.zeros(int(number.max()) + 1, dtype=np.int64)
    to_number = np.zeros(int(other.max()) + 1, dtype=np.int64)
    to_other[number], to_number[other] = other, number
    return bool((to_other[number] == other).all() and (to_number[other] == number).all())
