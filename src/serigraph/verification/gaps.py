"""What is missing from a release, found by comparing it with the table, and what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.model import Gap, Past, Population, ProtectedValue
from serigraph.privacy.breach import breach_probability
from serigraph.records import Exposure

_MARGIN = 1e-9  # of a survival, far above the rounding of a product of many factors
_TOGETHER = 1 << 16  # people that are looked at together


def check_gaps(
    whole: Population, population: Population, everybody: Past, where: str
) -> tuple[Gap, ...]:
    """What the table has and the release has not, after it was charged to everybody's past."""
    gaps = _find_gaps(whole, population, where)
    _check_everybody(everybody, population.protected, {gap.value for gap in gaps}, where)
    return gaps


def _find_gaps(whole: Population, population: Population, where: str) -> tuple[Gap, ...]:
    """The holders that the table has and the release has not, by value, and what is charged.

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
    told = {
        name
        for value, now in zip(population.protected, shown, strict=True)
        if now
        for name in (value.name, *value.stands_for)
    }
    gaps = []
    for before, now, was, is_left in zip(
        holders, shown, whole.protected, population.protected, strict=True
    ):
        missing = before - now
        no_progress = len(missing & recorded)
        risk = max(
            Fraction(no_progress, max(len(recorded) - len(now), 1)),
            Fraction(len(missing) - no_progress, max(without_record, 1)),
        )
        if risk > was.threshold:
            raise GuaranteeExceeded(
                f"the missing holders of value {was.name!r} would be told by their absence",
                where=where,
                remedy="publish without suppression",
            )
        if are_others_absent and was.name not in told:
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
    history: Past, protected: Sequence[ProtectedValue], values: set[str], where: str
) -> None:
    """Refuse if the past of somebody exceeds what is left of the threshold of one of the values."""
    held = history.held
    survived = np.log(np.maximum(held.survival, 1e-300))
    for number, value in enumerate(protected):
        if value.name not in values:
            continue
        limit = np.log(float(1 - value.threshold)) + _MARGIN
        for begin in range(0, len(history.group), _TOGETHER):
            groups = history.group[begin : begin + _TOGETHER]
            total = np.zeros(len(groups))
            for exposure, person in _exposures(history, groups, number):
                np.add.at(total, person, survived[exposure])
            for somebody in np.flatnonzero(total < limit).tolist():
                found = [
                    Exposure(int(held.size[each]), int(held.count[each]))
                    for exposure, _ in _exposures(history, groups[[somebody]], number)
                    for each in exposure.tolist()
                ]
                if breach_probability(found) > value.threshold:
                    raise GuaranteeExceeded(
                        f"leaving {value.name!r} out would tell too much about people whose budget "
                        "for it is nearly used up",
                        where=where,
                        remedy="publish without suppression",
                    )


def _exposures(
    history: Past, groups: NDArray[np.integer], value: int
) -> list[tuple[NDArray[np.integer], NDArray[np.int64]]]:
    """Release by release, the exposures to a value, and whose they are among these people."""
    found = []
    for was in groups.T:
        known = np.flatnonzero(was >= 0)
        lengths, exposure = history.held.of_groups(was[known])
        is_met = history.held.value[exposure] == value
        found.append((exposure[is_met], np.repeat(known, lengths)[is_met]))
    return found


def _holders(population: Population) -> list[list[str | int]]:
    """The ids of the holders of each protected value."""
    holder = np.repeat(np.arange(population.size), np.diff(population.held_start))
    return [
        population.ids.gather(holder[population.held == number]).to_list()
        for number in range(len(population.protected))
    ]
