"""The promise for values that persist where somebody may know who is present: everything that a
release must show if each value is shown once only.

People are alike if they were members of the same releases, and never again once a group of theirs
has shown a value that persists. Such a group shows nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Population, ProtectedValue
from serigraph.runtime.ordering import are_in_order
from serigraph.verification.counted_cuts import Held, cut_by_counts
from serigraph.verification.crowds import Crowds, check_crowds
from serigraph.verification.earlier import EarlierReleases
from serigraph.verification.faithfulness import check_plain, contents
from serigraph.verification.membership import (
    are_same_parts,
    recorded_places,
    rows_of,
)
from serigraph.verification.persisting import (
    CohortFindings,
    Released,
    Rules,
    numbers_among,
    persisting_values,
    renumbered,
)
from serigraph.verification.proposal import Proposal, ProposedCohorts
from serigraph.verification.recorded_cohorts import CohortTerms, RecordedCohorts
from serigraph.verification.words import counted, distinct


@dataclass(frozen=True)
class _People:
    """The people of the table."""

    place: NDArray[np.int64]  # among those recorded, or -1
    cohort: NDArray[np.int64]  # before this release, or -1
    is_released: NDArray[np.bool_]
    row: NDArray[np.int64]  # the place here of each person of the release


@dataclass(frozen=True)
class _Shown:
    """What a release shows of values that persist: pairs of a person and a value."""

    holder: NDArray[np.int64]  # places in the release
    value: NDArray[np.int64]
    group: NDArray[np.int64]  # of everybody in the release

    @property
    def is_in_cohort(self) -> NDArray[np.bool_]:
        """Who in the release is in a group that shows such a value."""
        found = np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.bool_)
        found[self.group[self.holder]] = True
        return np.asarray(found[self.group])


def check_shown_once(
    release: Released,
    earlier: EarlierReleases,
    proposal: Proposal,
    proposed: ProposedCohorts,
    rules: Rules,
) -> CohortFindings:
    """Check who is in the release and with whom, what is left out, new cohorts and retirements, and
    the holders of every class of people."""
    table, population, where = release.table, release.population, rules.where
    if release.arranged is not population:
        raise ImpossibleState("values were suppressed that may only be shown once", where=where)
    recorded = earlier.cohorts(rules.terms.persists)
    values = persisting_values(table, recorded, rules.terms, where)
    recorded = renumbered(recorded, values)
    _check_table(table, rules.terms, where)
    _check_past(recorded, where)
    people = _people(table, population, proposed, recorded, where)
    number = numbers_among(population, values)[population.held]
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    shown = _Shown(holder[number >= 0], number[number >= 0], proposal.group)
    _check_boxes(population, proposal, where)
    _check_content(table, population, people, shown, where)
    _check_free(table, earlier, people, shown, values, rules)
    _check_changes(population, recorded, proposed, shown, where)
    crowds = _crowds(people, recorded, proposed, population, shown, len(values))
    worst = check_crowds(crowds, values, rules.known_members, where)
    return CohortFindings(
        worst=tuple(worst),
        pairs=int(crowds.size[crowds.cell // crowds.values].sum()),
        cohort=proposed.cohort,
        is_new=proposed.cohort >= recorded.formed,
        retired=proposed.retired,
    )


def _check_table(table: Population, terms: CohortTerms, where: str) -> None:
    """Refuse people without a record, and transient values."""
    if not table.present.all():
        raise ImpossibleState("people are counted who are known to be absent", where=where)
    persists = np.array([terms.persists(value.name) for value in table.protected], dtype=np.bool_)
    if not persists[table.held].all():
        raise GuaranteeExceeded(
            "somebody holds a transient value beside values that are shown once only",
            where=where,
            remedy='give a registry, or set the persistence of transient values to "any"',
        )


def _check_past(recorded: RecordedCohorts, where: str) -> None:
    """Refuse holders who were in no cohort, and cohorts that were formed without one or stand."""
    cohort = recorded.cohort[recorded.holder]
    has_holder = np.zeros(recorded.formed, dtype=np.bool_)
    has_holder[cohort[cohort >= 0]] = True
    has_all = has_holder[recorded.cohort[recorded.cohort >= 0]].all()
    if (cohort < 0).any() or not has_all or recorded.is_live.any():
        raise GuaranteeExceeded(
            "values that persist were shown more than once in earlier releases",
            where=where,
            remedy="begin a new series: one series never keeps cohorts in two ways",
        )


def _people(
    table: Population,
    population: Population,
    proposed: ProposedCohorts,
    recorded: RecordedCohorts,
    where: str,
) -> _People:
    """Find everybody; refuses strangers and people who retired."""
    if len(proposed.cohort) != population.size:
        raise ImpossibleState("the proposed cohorts do not cover everybody", where=where)
    if not (are_in_order(table.ids) and are_in_order(population.ids)):
        raise ImpossibleState("the ids do not ascend", where=where)
    row = rows_of(table.ids, population.ids)
    if (row < 0).any():
        raise ImpossibleState("a release shows somebody who is not in its table", where=where)
    place, _ = recorded_places(recorded, table.ids, proposed.retired.clear())
    cohort = np.append(recorded.cohort, -1)[place]
    is_released = np.zeros(table.size, dtype=np.bool_)
    is_released[row] = True
    if ((cohort >= 0) & is_released).any():
        raise ImpossibleState("somebody who retired is in the release", where=where)
    return _People(place, cohort, is_released, row)


def _check_boxes(population: Population, proposal: Proposal, where: str) -> None:
    """Refuse regions that are not exactly those of their people, with a record or without."""
    if proposal.form == "bucketised" or not population.size:
        return
    order = np.argsort(proposal.group, kind="stable")
    group, length = counted(proposal.group)
    begin = np.cumsum(length) - length
    for codes, low, high in zip(population.codes, proposal.low.T, proposal.high.T, strict=True):
        mine = codes[order]
        if (np.minimum.reduceat(mine, begin) != low[group]).any() or (
            np.maximum.reduceat(mine, begin) != high[group]
        ).any():
            raise ImpossibleState("a region is larger than its people need", where=where)


def _check_content(
    table: Population, population: Population, people: _People, shown: _Shown, where: str
) -> None:
    """Refuse a record that is not that of the table: whole in a group without a value that
    persists, and otherwise the protected values alone, nobody else having a record, and no plain
    cell."""
    covering, (whole, found) = contents(table, [(population, people.row)], where)
    check_plain(table, population, people.row, shown.is_in_cohort, where)
    is_partial = np.zeros(table.size, dtype=np.bool_)
    is_partial[people.row[shown.is_in_cohort]] = True
    is_protected = covering.start[1:] > covering.start[:-1]
    place, value = np.divmod(whole.shown, covering.values)
    must_be = people.is_released[place] & (
        ~is_partial[place] | np.append(is_protected, False)[value]
    )
    if not np.array_equal(whole.shown[must_be], found.shown):
        raise ImpossibleState("a record is not what the table says, or shows more", where=where)
    has_record = ~is_partial
    has_record[place[must_be]] = True
    if (population.present != has_record[people.row]).any():
        raise ImpossibleState("other people have a record than those who must", where=where)


def _check_free(
    table: Population,
    earlier: EarlierReleases,
    people: _People,
    shown: _Shown,
    values: Sequence[ProtectedValue],
    rules: Rules,
) -> None:
    """Refuse if people who share their past are not all in the release, or all out of it if they
    are too few; and other groups than the cells that quasi-identifiers and counts make."""
    is_free = people.cohort < 0
    past = earlier.attendance(table.ids.filter(pl.Series(is_free)))
    _, sharing, shares = np.unique(past, return_inverse=True, return_counts=True)
    must_be = shares[sharing] >= rules.terms.size
    is_released = people.is_released[is_free]
    if (is_released & ~must_be).any():
        raise GuaranteeExceeded(
            f"fewer people with the same past than a cohort needs ({rules.terms.size}) would be in "
            "the release",
            where=rules.where,
            remedy="let them wait for others",
        )
    if (must_be & ~is_released).any():
        raise ImpossibleState("somebody free is missing from the release", where=rules.where)
    if not must_be.any():
        return
    held = Held(shown.holder, shown.value, values, rules.known_members, rules.minimum_size)
    positions = [domain.positions() for domain in table.domains]
    cells = cut_by_counts(table.codes[:, people.row], positions, past[must_be], held)
    if not are_same_parts(distinct_numbers(shown.group), cells):
        raise ImpossibleState(
            "the groups are not those that quasi-identifiers and counts make", where=rules.where
        )


def distinct_numbers(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same numbers without gaps.

    >>> distinct_numbers(np.array([7, 3, 7])).tolist()
    [1, 0, 1]
    """
    return np.searchsorted(distinct(number), number)


def _check_changes(
    population: Population,
    recorded: RecordedCohorts,
    proposed: ProposedCohorts,
    shown: _Shown,
    where: str,
) -> None:
    """Refuse other new cohorts than the groups that show a value that persists, and if not all of
    their people retire at once, or others do."""

    def refuse_if(is_wrong: bool | np.bool_, what: str) -> None:
        if is_wrong:
            raise ImpossibleState(what, where=where)

    cohort, group, joins = proposed.cohort, shown.group, shown.is_in_cohort
    refuse_if((cohort[~joins] != -1).any(), "people join a cohort whose group shows no value")
    refuse_if(
        (cohort[joins] < recorded.formed).any(),
        "people who were shown with a value join no cohort, or one that was formed before",
    )
    if joins.any():
        refuse_if(
            not are_same_parts(distinct_numbers(cohort[joins]), distinct_numbers(group[joins])),
            "the new cohorts are not the groups that show a value that persists",
        )
    retired = proposed.retired
    refuse_if(
        retired.dtype != population.ids.dtype
        or not retired.sort().equals(population.ids.filter(pl.Series(joins))),
        "other people retire than those of groups that show a value that persists",
    )


def _crowds(
    people: _People,
    recorded: RecordedCohorts,
    proposed: ProposedCohorts,
    population: Population,
    shown: _Shown,
    values: int,
) -> Crowds:
    """The classes after this release: recorded people first, then those of the release who are not
    among them, with a place for everybody."""
    before = len(recorded.ids)
    known = people.place[people.row]
    place = np.where(known >= 0, known, before + np.arange(population.size))
    cohort = np.concatenate([recorded.cohort, np.full(population.size, -1)])
    retired = np.concatenate([recorded.retired, np.zeros(population.size, dtype=np.int64)])
    now = int(retired.max(initial=0)) + 1
    cohort[place] = proposed.cohort
    leaving = rows_of(population.ids, proposed.retired.sort())
    retired[place[leaving]] = now
    pairs = (
        np.concatenate([recorded.holder, place[shown.holder]]),
        np.concatenate([recorded.value, shown.value]),
    )
    return Crowds.of(cohort, retired, now, pairs, max(values, 1))
