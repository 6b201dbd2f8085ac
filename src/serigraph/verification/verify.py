"""The verifier: recomputes every exposure of every member, exactly, and trusts no other code.

It gets the population, the proposed groups and the earlier releases, which it reads itself, and
nothing else that grouping computed or was given. It cannot be switched off: the ledger commits
nothing but its `Proof`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded
from serigraph.model import Gap, Population, Proof, ProtectedValue
from serigraph.privacy.breach import breach_probability, survival
from serigraph.privacy.ratios import minimum_ratio, smallest_size
from serigraph.records import Exposure, WorstPair, worst_of
from serigraph.runtime.progress import Report, first_half, second_half
from serigraph.verification.composition import Composition, Shown, without_persisting
from serigraph.verification.earlier import EarlierGroups, EarlierReleases
from serigraph.verification.exactly import distinct_exposures
from serigraph.verification.gaps import check_gaps
from serigraph.verification.persisting import (
    CohortFindings,
    Released,
    Rules,
    check_persisting,
)
from serigraph.verification.proposal import (
    Proposal,
    check_proposal,
    check_rows,
    check_stated,
)
from serigraph.verification.recorded_cohorts import CohortTerms
from serigraph.verification.showing_once import check_shown_once
from serigraph.verification.survival import survey


def verify(  # the whole judgement, in order
    population: Population,
    earlier: EarlierReleases,
    proposal: Proposal,
    *,
    whole: Population | None = None,
    table: Population | None = None,
    cohort_terms: CohortTerms | None = None,
    presence_known: bool,
    minimum_size: int,
    known_members: int = 0,
    where: str,
    report: Report = lambda _done, _total: None,
) -> Proof:
    """Check a proposed release; returns a `Proof`, or raises `GuaranteeExceeded`.

    Everybody in a group is charged for every protected value in it, whether present, absent or a
    holder. If presence is known to the adversary, it chooses among the present members only. It
    chooses among all but ``known_members`` of a group, whom it knows not to hold its values. Where
    everybody has one value, people published as holders of one that persists cannot hold a
    transient one, and may be known to be in a group: such people do not count for it.

    ``whole`` is the population before suppression, if anything was suppressed. Its thresholds are
    those before this release; what the gaps between the two reveal is charged to everybody in the
    earlier releases.

    If values persist, ``cohort_terms`` say how cohorts are kept, and ``table`` has everybody of the
    table and the registry with all values, before anybody was withheld; ``whole`` comes after that.
    No formula of one release applies to such values: see ``check_persisting``, and, where somebody
    may know who is present, ``check_shown_once``.
    """
    check_stated(population, proposal, table, cohort_terms, where)
    check_proposal(population, proposal, where)
    check_rows(population, proposal, where)
    shown = Shown.of(population, proposal.group, shows_all=cohort_terms is not None)
    # Where values persist, members without a record are listed too, and all of them give cover.
    size = shown.present if presence_known and cohort_terms is None else shown.people
    _check_sizes(size, minimum_size, where)
    standing: CohortFindings | None = None
    if table is not None and cohort_terms is not None and proposal.cohorts is not None:
        release = Released(table, population if whole is None else whole, population)
        rules = Rules(cohort_terms, known_members, minimum_size, where)
        if presence_known or not cohort_terms.has_registry:
            standing = check_shown_once(release, earlier, proposal, proposal.cohorts, rules)
        else:
            standing = check_persisting(release, earlier, proposal.group, proposal.cohorts, rules)
    gaps: tuple[Gap, ...] = ()
    if whole is not None and whole is not population:
        of_gaps = 0 if standing is None else standing.excluded_from_gaps
        gaps = check_gaps(whole, population, earlier, where, known_members, of_gaps)
    excluded = None if standing is None else standing.excluded_from(shown.group, len(size))
    transient = without_persisting(population)
    charged = Composition.of(
        transient, shown.group, size, known_members + (0 if excluded is None else excluded)
    )
    ids, present, group = population.ids, population.present, shown.group
    past = earlier.groups_of(
        ids.gather(charged.charged), transient.protected_names, first_half(report)
    )
    thresholds = [value.threshold for value in transient.protected]
    found = survey(charged, past, thresholds, second_half(report))
    pairs = np.concatenate([found.close, found.worst])
    worst = _decide_exactly(pairs, transient.protected, charged, past, where)
    if standing is not None:
        worst += standing.worst
    is_member = group < len(size)
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    if not is_member.all():
        ids, present, group = ids.filter(pl.Series(is_member)), present[is_member], group[is_member]
        holder = (np.cumsum(is_member) - 1)[holder]  # every holder is a member
    composition = Composition.of(population, shown.group, size, known_members)
    lengths, names = np.diff(composition.start), population.protected_names
    return Proof(
        ids=ids,
        group=group.astype(np.uint32),
        present=present,
        size=shown.people,
        present_size=shown.present,
        value_group=np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths),
        value_name=pl.Series(names, dtype=pl.Enum(names)).gather(composition.value),
        value_count=composition.count,
        largest=max((pair.probability for pair in worst), default=Fraction(0)),
        pairs=charged.pairs + (standing.pairs if standing is not None else 0),
        exact_pairs=len(found.close),
        holder=holder,
        held=population.held,
        protected_names=tuple(names),
        worst=worst_of(worst),
        gaps=gaps,
        cohorts=standing.changes(population.ids) if standing is not None else None,
        excluded=excluded,
    )


def _check_sizes(size: NDArray[np.int64], minimum_size: int, where: str) -> None:
    smallest = int(size.min(initial=minimum_size))
    if smallest < minimum_size:
        raise GuaranteeExceeded(
            f"a group would have {smallest} people, fewer than minimum_group_size ({minimum_size})",
            where=where,
            remedy="lower minimum_group_size in the policy",
        )


def _decide_exactly(
    pairs: NDArray[np.int64],
    protected: Sequence[ProtectedValue],
    composition: Composition,
    earlier: Sequence[EarlierGroups],
    where: str,
) -> list[WorstPair]:
    """The worst of these pairs for each threshold, in fractions; refuses pairs out of bounds."""
    thresholds = list(dict.fromkeys(value.threshold for value in protected))
    kind = np.array([thresholds.index(value.threshold) for value in protected], dtype=np.int64)
    worst: dict[Fraction, WorstPair] = {}
    for entry, exposures in distinct_exposures(pairs, kind, composition, earlier):
        value = protected[composition.value[entry]]
        probability = breach_probability(exposures)
        if probability > value.threshold:
            group = int(composition.group_of(np.array([entry]))[0])
            people = int(composition.people[group]), int(composition.known[group])
            at = f"{where}, group {group}"
            raise _exceeded(exposures, people, probability, value.threshold, at)
        known = worst.get(value.threshold)
        if known is None or probability > known.probability:
            worst[value.threshold] = WorstPair(value.name, probability, value.threshold)
    return list(worst.values())


def _exceeded(
    exposures: tuple[Exposure, ...],
    people: tuple[int, int],
    probability: Fraction,
    threshold: Fraction,
    where: str,
) -> GuaranteeExceeded:
    """The refusal of a pair with these exposures; ``people`` are those of the last group, and how
    many of them are known."""
    size, known = people
    ratio = minimum_ratio(threshold, survival(exposures[:-1]))
    remedy = (
        "keep this value out of the group: the budget of one of its members is used up"
        if ratio == float("inf")
        else f"give this group at least {smallest_size(ratio, exposures[-1].count) + known} "
        f"members (now {size}), or suppress"
    )
    return GuaranteeExceeded(
        f"breach probability would be {probability} ({float(probability):.3f}), above {threshold}",
        where=where,
        remedy=remedy,
    )
