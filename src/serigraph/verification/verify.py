"""The verifier: recomputes every exposure of every member, exactly, and trusts nobody.

It is given the population, the history that the ledger recalled and the proposed groups, and
nothing that the grouping computed besides. It cannot be switched off: the ledger commits nothing
but its `Proof`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Gap, Past, Population, Proof, occurrences, occurring
from serigraph.privacy.breach import breach_probability, survival
from serigraph.privacy.ratios import minimum_ratio, smallest_size
from serigraph.records import Exposure, WorstPair, worst_of
from serigraph.runtime.progress import Report, part_of
from serigraph.runtime.threads import TOGETHER, parallel_map, parallel_take, slices, threads
from serigraph.verification import kernels
from serigraph.verification.gaps import check_gaps
from serigraph.verification.regions import overlapping

_HALF = 32  # bits of a word
_DECIDED_TOGETHER = 1 << 14  # pairs, so that what is made of them stays in a processor's cache
_PARTS = 16  # of the work, for each thread: so many that progress can be told


@dataclass(frozen=True)
class Proposal:
    """Groups for everybody, as the verifier takes them: the group of each person of a population,
    and the boxes of codes that a generalised release shows of them (none in a bucketised one)."""

    group: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def verify(
    population: Population,
    history: Past,
    proposal: Proposal,
    *,
    whole: Population | None = None,
    everybody: Callable[[], Past] | None = None,
    presence_known: bool,
    minimum_size: int,
    where: str,
    report: Report = lambda _done, _total: None,
) -> Proof:
    """Check a proposed release; returns a `Proof`, or raises `GuaranteeExceeded`.

    Everybody in a group is charged for every protected value in it, whether present, absent or a
    holder. If presence is known to the adversary, it chooses among the present members only.

    ``whole`` is who there was before anything was suppressed, if anything was. Its thresholds are
    those before this release; what the gaps between the two tell is charged to everybody that the
    ledger knows: ``everybody`` recalls their past, in the order of the population's values.
    """
    group = proposal.group
    gaps: tuple[Gap, ...] = ()
    if whole is not None and whole is not population:
        gaps = check_gaps(whole, population, everybody() if everybody else history, where)
    if len(group) != population.size or (len(group) and group.min() < 0):
        raise ImpossibleState("the proposed groups do not cover everybody", where=where)
    _check_regions(population, proposal, where)
    groups = int(group.max(initial=-1)) + 1
    present_size = occurrences(group, groups, population.present)
    # Groups without a present member are not published: nothing is said about their people. They
    # come behind the others.
    shown = int(np.count_nonzero(present_size))
    if not present_size[:shown].all():
        order = np.argsort(present_size == 0, kind="stable")
        number = np.empty_like(order)
        number[order] = np.arange(groups)
        group, present_size = parallel_take(number, group), present_size[order]
    composition = _composition(population, group, present_size, shown, presence_known)
    ids, present = population.ids, population.present
    if shown < groups:
        is_member = group < shown
        ids, present = ids.filter(pl.Series(is_member)), present[is_member]
        found = parallel_map(
            lambda part: group[part][is_member[part]].astype(np.uint32),
            slices(len(group), longest=TOGETHER),
        )
        group = np.concatenate(found)
    smallest = int(composition.size.min(initial=minimum_size))
    if smallest < minimum_size:
        raise GuaranteeExceeded(
            f"a group would have {smallest} people, fewer than minimum_group_size ({minimum_size})",
            where=where,
            remedy="lower minimum_group_size in the policy",
        )
    # Each threshold by itself: the worst pair of one may be better than many of another.
    chosen = _values_by_threshold(population)
    surveys = [
        _survey(population, history, composition.only(each), part_of(report, part, len(chosen)))
        for part, each in enumerate(chosen)
    ]
    decided = [each for pairs, worst, close in surveys if pairs for each in (close, worst[None])]
    worst = _decide_exactly(decided, population, history, composition, where)
    lengths = np.diff(composition.start)
    names = [value.name for value in population.protected]
    return Proof(
        ids=ids,
        group=group.astype(np.uint32, copy=False),
        present=present,
        size=composition.people,
        present_size=present_size[:shown],
        value_group=np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths),
        value_name=pl.Series(names, dtype=pl.Enum(names)).gather(composition.value),
        value_count=composition.count,
        largest=max((pair.probability for pair in worst), default=Fraction(0)),
        pairs=sum(pairs for pairs, _, _ in surveys),
        exact_pairs=sum(len(close) for _, _, close in surveys),
        worst=worst_of(worst),
        gaps=gaps,
    )


def _values_by_threshold(population: Population) -> list[NDArray[np.bool_]]:
    """For each threshold, which of the protected values have it; all if there are none."""
    thresholds = [value.threshold for value in population.protected]
    return [
        np.array([each == threshold for each in thresholds])
        for threshold in dict.fromkeys(thresholds)
    ] or [np.empty(0, dtype=np.bool_)]


def _survey(
    population: Population, history: Past, composition: _Composition, report: Report
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """The number of (member, value) pairs, the one with the largest probability, and those that
    floats cannot decide."""
    held = history.held
    survived = held.survival
    least = np.ones(len(population.protected))
    np.minimum.at(least, held.value, survived)
    threshold = np.array([float(value.threshold) for value in population.protected])
    member_start, members = composition.member_start, composition.members
    past_groups = parallel_take(_past_groups(history), members)
    arguments = (
        member_start,
        members,
        composition.size,
        composition.start,
        composition.value,
        composition.count,
        history.group,
        held.start,
        held.exposure,
        held.value,
        survived,
        least,
        threshold,
        past_groups,
    )
    charged = np.flatnonzero(np.diff(member_start))
    parts = np.array_split(charged, _PARTS * threads())
    # The worst pair is mostly that of somebody who was in nearly every release: such people come
    # first. Once a bad pair is known, few others have to be followed.
    most = int(past_groups.max(initial=0))
    turns = [(most, most), (most - 1, most - 1), (0, most - 2)][: most + 1]
    largest = -1.0

    def survey(
        work: tuple[tuple[int, int], NDArray[np.int64]],
    ) -> tuple[float, NDArray[np.int64], NDArray[np.int64]]:
        nonlocal largest
        (fewest, most), groups = work
        found, pair, close = kernels.survey_members(*arguments, fewest, most, largest, groups)
        largest = max(largest, found)
        return found if pair[0] >= 0 else -1.0, pair, close

    surveyed = parallel_map(survey, product(turns, parts), report)
    return (
        int(np.dot(np.diff(composition.start), np.diff(member_start))),
        max(surveyed, key=lambda each: each[0])[1],
        np.concatenate([close for _, _, close in surveyed]),
    )


def _past_groups(history: Past) -> NDArray[np.uint16]:
    """In how many past groups each person was."""
    number = np.zeros(len(history.group), dtype=np.uint16)
    if history.releases == 0:
        return number
    ones = np.ones(history.releases, dtype=np.float32)

    def count(part: slice) -> None:
        number[part] = (history.group[part] >= 0).astype(np.float32) @ ones

    parallel_map(count, slices(len(number), longest=TOGETHER >> 2))
    return number


@dataclass(frozen=True)
class _Composition:
    """Who is in each group and what it holds, from the population and from nothing else."""

    people: NDArray[np.int64]
    size: NDArray[np.int64]  # of them, those that the adversary has to choose from
    member_start: NDArray[np.int64]
    members: NDArray[np.uint32]  # of groups that hold anything
    start: NDArray[np.int64]
    value: NDArray[np.int32]
    count: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> _Composition:
        """The same groups with some of the values only."""
        if chosen.all():
            return self
        kept = chosen[self.value]
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(kept)])[self.start],
            value=self.value[kept],
            count=self.count[kept],
        )


def _composition(
    population: Population,
    group: NDArray[np.int64],
    present_size: NDArray[np.int64],
    shown: int,
    presence_known: bool,
) -> _Composition:
    """The first groups, so many as are shown; nobody in the others has a record."""
    holds = population.held_start[1:] > population.held_start[:-1]
    if (holds & ~population.present).any():
        raise ImpossibleState("somebody without a record holds a value")
    groups, held = len(present_size), len(population.held)
    people = occurrences(group, groups)[:shown]
    # Whoever is with nobody that holds a protected value, mostly nearly all, is exposed to nothing.
    is_charged = occurring(group, groups, holds)
    if is_charged.all():
        charged = np.arange(len(group), dtype=np.uint32)
    else:
        found = parallel_map(
            lambda part: (part.start + np.flatnonzero(is_charged[group[part]])).astype(np.uint32),
            slices(len(group), longest=TOGETHER),
        )
        charged = np.concatenate(found)
    member_start = np.zeros(groups + 2, dtype=np.int64)
    members = np.empty(len(charged), dtype=np.uint32)
    start = np.zeros(groups + 1, dtype=np.int64)
    value, count = np.empty(held, dtype=np.int32), np.empty(held, dtype=np.int64)
    kernels.compose(
        charged,
        group,
        population.held_start,
        population.held,
        member_start,
        members,
        np.zeros(groups + 2, dtype=np.int64),
        np.empty(held, dtype=np.int32),
        np.zeros(len(population.protected), dtype=np.int64),
        start,
        value,
        count,
    )
    return _Composition(
        people=people,
        size=present_size[:shown] if presence_known else people,
        member_start=member_start[: shown + 1],
        members=members,
        start=start[: shown + 1],
        value=value[: start[-1]],
        count=count[: start[-1]],
    )


def _exposures(
    pairs: NDArray[np.int64], history: Past, composition: _Composition
) -> NDArray[np.int64]:
    """All exposures of (person, group, value) pairs, a row each, with a size and a count in each
    word: the past ones in ascending order, 0 where there was none, and this release's last."""
    person, group, value = pairs.T
    held = history.held
    found = np.zeros((len(pairs), history.releases + 1), dtype=np.int64)
    for j, was in enumerate(history.group[person].T):
        known = np.flatnonzero(was >= 0)
        lengths, exposure = held.of_groups(was[known])
        pair = np.repeat(known, lengths)
        is_met = held.value[exposure] == value[pair]
        pair, exposure = pair[is_met], exposure[is_met]
        if (pair[1:] == pair[:-1]).any():
            raise ImpossibleState("a past group holds a value twice")
        found[pair, j] = held.size[exposure] << _HALF | held.count[exposure]
    found.sort(axis=1)
    pair, entry = _entries(composition.start, group)
    count = composition.count[entry[composition.value[entry] == value[pair]]]
    return np.column_stack([found[:, 1:], composition.size[group] << _HALF | count])


def _entries(
    start: NDArray[np.integer], group: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What these groups hold, one after the other: the place of the group among them, and that of
    the entry among all.

    >>> [each.tolist() for each in _entries(np.array([0, 2, 3]), np.array([1, 0]))]
    [[0, 1, 1], [2, 0, 1]]
    """
    lengths = start[group + 1] - start[group]
    before = np.cumsum(lengths) - lengths
    return (
        np.repeat(np.arange(len(group)), lengths),
        np.repeat(start[group] - before, lengths) + np.arange(lengths.sum()),
    )


def _read(words: Sequence[int]) -> tuple[Exposure, ...]:
    """Exposures from words as ``_exposures`` writes them."""
    return tuple(Exposure(word >> _HALF, word & (1 << _HALF) - 1) for word in words if word)


def _decide_exactly(
    pairs: Sequence[NDArray[np.int64]],
    population: Population,
    history: Past,
    composition: _Composition,
    where: str,
) -> list[WorstPair]:
    """The worst of these pairs for each threshold, in fractions; all of them are within bounds.

    Where groups are as small as their threshold allows, floats leave nearly all pairs to this.
    Those with the same exposures and the same threshold are decided together.
    """
    if not pairs:
        return []
    all_pairs = np.concatenate(pairs)
    thresholds = [value.threshold for value in population.protected]
    number = {threshold: number for number, threshold in enumerate(dict.fromkeys(thresholds))}
    limits = list(number)
    limit_of = np.array([number[threshold] for threshold in thresholds], dtype=np.int64)

    def different(part: slice) -> NDArray[np.int64]:
        _, group, value = all_pairs[part].T
        words = _exposures(all_pairs[part], history, composition)
        table = pl.DataFrame(np.column_stack([group, value, limit_of[value], words]))
        return table.unique(table.columns[2:]).to_numpy()

    worst: dict[int, WorstPair] = {}
    for group, value, limit, *words in np.concatenate(
        parallel_map(different, slices(len(all_pairs), longest=_DECIDED_TOGETHER))
    ).tolist():
        exposures = _read(words)
        probability = breach_probability(exposures)
        if probability > limits[limit]:
            raise _exceeded(exposures, probability, limits[limit], group, where)
        if limit not in worst or probability > worst[limit].probability:
            worst[limit] = WorstPair(population.protected[value].name, probability, limits[limit])
    return list(worst.values())


def _exceeded(
    exposures: tuple[Exposure, ...],
    probability: Fraction,
    threshold: Fraction,
    group: int,
    where: str,
) -> GuaranteeExceeded:
    now = exposures[-1]
    ratio = minimum_ratio(threshold, survival(exposures[:-1]))
    remedy = (
        "keep this value out of the group: the budget of one of its members is used up"
        if ratio == float("inf")
        else f"give this group at least {smallest_size(ratio, now.count)} members "
        f"(now {now.size}), or suppress"
    )
    return GuaranteeExceeded(
        f"breach probability would be {probability} ({float(probability):.3f}), above {threshold}",
        where=f"{where}, group {group}",
        remedy=remedy,
    )


def _check_regions(population: Population, proposal: Proposal, where: str) -> None:
    """Regions of a generalised release are disjoint, and everybody lies in the region of its group:
    so that whoever knows a person's quasi-identifiers finds its group, and nobody else's."""
    if proposal.low.shape[1] == 0:
        return

    ends = [
        (low.copy(), high.copy()) for low, high in zip(proposal.low.T, proposal.high.T, strict=True)
    ]

    def is_inside(part: slice) -> bool:
        group = proposal.group[part]
        return all(
            ((low[group] <= codes[part]) & (codes[part] <= high[group])).all()
            for codes, (low, high) in zip(population.codes, ends, strict=True)
        )

    if not all(parallel_map(is_inside, slices(len(proposal.group), longest=TOGETHER))):
        raise ImpossibleState("a person lies outside of the region of its group", where=where)
    first, second = overlapping(proposal.low, proposal.high)
    if first >= 0:
        raise ImpossibleState(f"the regions of groups {first} and {second} overlap", where=where)
