"""What is missing from a release, found by comparing it with the table, and what that reveals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Gap, Population, ProtectedValue
from serigraph.privacy.breach import breach_probability
from serigraph.verification.composition import Composition
from serigraph.verification.earlier import EarlierReleases
from serigraph.verification.exactly import distinct_exposures
from serigraph.verification.survival import survey


def check_gaps(
    whole: Population,
    population: Population,
    earlier: EarlierReleases,
    where: str,
    known_members: int = 0,
    excluded: int = 0,
) -> tuple[Gap, ...]:
    """What the table has and the release lacks, after charging it to everybody's past.

    Of people without a record so many are ``excluded`` at most: they may be known to hold a value
    that persists, and no other one.
    """
    gaps = _find_gaps(whole, population, where, known_members, excluded)
    missing = {gap.value for gap in gaps}
    _check_everybody(
        earlier, [value for value in population.protected if value.name in missing], where
    )
    return gaps


def _find_gaps(
    whole: Population, population: Population, where: str, known_members: int, excluded: int
) -> tuple[Gap, ...]:
    """The holders that the table has and the release lacks, by value, and what is charged.

    Refuses a population whose thresholds are not what these gaps leave of them, and one that shows
    something that is not in the table.
    """
    holders = [set(each) for each in _holders(whole)]
    shown = [set(each) for each in _holders(population)]
    recorded = set(population.ids.filter(population.present).to_list())
    known = set(whole.ids.filter(whole.present).to_list())
    names = [value.name for value in whole.protected]
    if (
        names != [value.name for value in population.protected]
        or not recorded <= known
        or any(now - before for now, before in zip(shown, holders, strict=True))
    ):
        raise ImpossibleState("a release shows what is not in its table", where=where)
    without_record = whole.size - len(recorded)
    are_others_absent = len(known) < whole.size
    revealed = {
        name
        for value, now in zip(population.protected, shown, strict=True)
        if now
        for name in (value.name, *value.stands_for)
    }
    gaps = []
    for before, now, was, is_left in zip(
        holders, shown, whole.protected, population.protected, strict=True
    ):
        if was.persists:
            continue  # cohorts bound what is shown of it, and nothing is charged
        missing = before - now
        with_record = len(missing & recorded)
        without = len(missing) - with_record
        risk = max(
            Fraction(with_record, max(len(recorded) - len(now) - known_members, with_record, 1)),
            Fraction(without, max(without_record - excluded - known_members, without, 1)),
        )
        if risk > was.threshold:
            raise GuaranteeExceeded(
                f"the missing holders of value {was.name!r} would be revealed by their absence",
                where=where,
                remedy="publish without suppression",
            )
        if are_others_absent and was.name not in revealed:
            risk = Fraction(0)
        if (1 - is_left.threshold) * (1 - risk) != 1 - was.threshold:
            raise GuaranteeExceeded(
                f"what is missing of value {was.name!r} is not charged to its threshold",
                where=where,
                remedy="publish without suppression",
            )
        if missing:
            gaps.append(Gap(was.name, len(missing), risk))
    return tuple(gaps)


def _check_everybody(
    earlier: EarlierReleases, protected: Sequence[ProtectedValue], where: str
) -> None:
    """Refuse if somebody's past exceeds what is left of the threshold of one of the values."""
    ids = earlier.people()
    if not protected or not len(ids):
        return
    past = earlier.groups_of(ids, [value.name for value in protected], lambda _done, _total: None)
    everybody = Composition.of_one_group(len(ids), len(protected))
    thresholds = [value.threshold for value in protected]
    close = survey(everybody, past, thresholds, lambda _done, _total: None).close
    for entry, exposures in distinct_exposures(close, np.arange(len(protected)), everybody, past):
        value = protected[entry]
        if breach_probability(exposures) > value.threshold:
            raise GuaranteeExceeded(
                f"leaving {value.name!r} out would tell too much about people whose budget "
                "for it is nearly used up",
                where=where,
                remedy="publish without suppression",
            )


def _holders(population: Population) -> list[list[str | int]]:
    """The ids of the holders of each protected value."""
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    return [
        population.ids.gather(holder[population.held == number]).to_list()
        for number in range(len(population.protected))
    ]
