"""What groups have to satisfy, in plain Python and exact fractions.

Nothing here comes from the code that forms groups: a person is an index, a past group is a size
and a count of each value, and every question is answered by looking at everybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from serigraph.privacy import ConstantRatio, Geometric, Strategy


@dataclass(frozen=True)
class PastGroup:
    """A group that was published: how many people, and how many of them held each value."""

    size: int
    counts: Mapping[int, int]


@dataclass(frozen=True)
class Person:
    """What grouping may know of somebody."""

    codes: tuple[int, ...]
    held: frozenset[int]
    past: tuple[PastGroup, ...] = ()
    counts_in_size: bool = True  # False for people known to be absent: they hide nobody


def links_and_survival(person: Person, value: int) -> tuple[int, Fraction]:
    """How often a person shared a group with a value, and the probability that remains of never
    having been linked to it."""
    exposed = [group for group in person.past if value in group.counts]
    survival = Fraction(1)
    for group in exposed:
        survival *= 1 - Fraction(group.counts[value], group.size)
    return len(exposed), survival


def is_bearable(
    strategy: Strategy,
    threshold: Fraction,
    links: int,
    survival: Fraction,
    size: int,
    count: int,
) -> bool:
    """Whether the strategy lets a person join ``size`` people of whom ``count`` hold the value."""
    keep = 1 - threshold
    if size < count or survival <= keep or survival * (size - count) < keep * size:
        return False
    kept = 1 - Fraction(count, size)
    if isinstance(strategy, ConstantRatio):
        if strategy.replan:
            return survival * kept ** max(strategy.releases - links, 1) >= keep
        return kept**strategy.releases >= keep
    if isinstance(strategy, Geometric):
        if strategy.replan:
            return size >= strategy.factor * survival / (survival - keep) * count
        growth = strategy.factor / (strategy.factor - 1)
        return size >= strategy.factor * (1 + (1 / threshold - 1) * growth**links) * count
    # A schedule's ratios are roots of an equation: floats, here as in the strategy itself.
    return size * (1 + 1e-12) >= strategy.ratio(threshold, links, survival) * count


def unbearable_values(
    members: Sequence[Person],
    strategies: Sequence[Strategy],
    thresholds: Sequence[Fraction],
    known: int,
) -> set[int]:
    """The values in a group that some member cannot bear, if ``known`` others hide nobody."""
    size = sum(person.counts_in_size for person in members) - known
    counts = Counter(value for person in members for value in person.held)
    return {
        value
        for value, count in counts.items()
        if not all(
            is_bearable(
                strategies[value],
                thresholds[value],
                *links_and_survival(person, value),
                size,
                count,
            )
            for person in members
        )
    }


Box = tuple[tuple[int, int], ...]  # the first and the last code in each column


def is_inside(person: Person, box: Box) -> bool:
    """Whether a box holds a person's codes."""
    return all(low <= code <= high for code, (low, high) in zip(person.codes, box, strict=True))


def overlapping_boxes(boxes: Sequence[Box]) -> list[tuple[int, int]]:
    """The pairs of boxes that have a point in common."""
    return [
        (first, second)
        for first, second in combinations(range(len(boxes)), 2)
        if all(
            a[0] <= b[1] and b[0] <= a[1] for a, b in zip(boxes[first], boxes[second], strict=True)
        )
    ]


def is_run_of_siblings(low: int, high: int, paths: Sequence[tuple[str, ...]]) -> bool:
    """Whether the leaves low..high are whole children, side by side, of one node of a tree."""
    inside = paths[low : high + 1]
    shared = min((_shared(a, b) for a, b in pairwise(inside)), default=len(paths[low]))
    child = max(shared + 1, 1)
    whole = {path[:child] for path in inside}
    return all((path[:child] in whole) == (low <= leaf <= high) for leaf, path in enumerate(paths))


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many labels two paths have in common from the root on."""
    return next((depth for depth, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), len(a))
