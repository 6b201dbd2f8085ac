"""What the properties are tried on."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st

from serigraph.privacy import (
    Adaptive,
    ConstantRatio,
    Geometric,
    LinkGaps,
    OptimalSchedule,
    Strategy,
)
from serigraph.records import Exposure
from theorems.possible_worlds import Group, Series

# A shared machine makes single examples slow for reasons that no property is about.
unhurried = settings(deadline=None, max_examples=80)

thresholds = st.one_of(
    st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(9, 100), Fraction(1, 11)]),
    st.fractions(min_value=Fraction(1, 60), max_value=Fraction(59, 60), max_denominator=60),
)


@st.composite
def exposures(draw: st.DrawFn, largest: int = 60) -> Exposure:
    """A group that leaves some doubt: not everybody in it holds the value."""
    size = draw(st.integers(2, largest))
    return Exposure(size, draw(st.integers(1, size - 1)))


histories = st.lists(exposures(), max_size=5)


@st.composite
def unspent_histories(draw: st.DrawFn) -> tuple[Fraction, list[Exposure]]:
    """A threshold, and exposures that keep p strictly below it."""
    threshold = draw(thresholds)
    kept: list[Exposure] = []
    survival = Fraction(1)
    for size in draw(st.lists(st.integers(2, 400), max_size=6)):
        if survival * (1 - Fraction(1, size)) > 1 - threshold:
            survival *= 1 - Fraction(1, size)
            kept.append(Exposure(size, 1))
    return threshold, kept


@st.composite
def published_series(draw: st.DrawFn) -> Series:
    """Up to three releases of up to four of five people, in one or two groups each."""
    return tuple(draw(_tables()) for _ in range(draw(st.integers(1, 3))))


@st.composite
def _tables(draw: st.DrawFn) -> tuple[Group, ...]:
    people = draw(st.lists(st.sampled_from("opqrt"), min_size=1, max_size=4, unique=True))
    values = [draw(st.sampled_from("stu")) for _ in people]
    cut = draw(st.integers(0, len(people)))
    parts = [(people[:cut], values[:cut]), (people[cut:], values[cut:])]
    return tuple(Group(tuple(who), tuple(held)) for who, held in parts if who)


@st.composite
def publishing_strategies(draw: st.DrawFn) -> Strategy:
    """Any strategy, re-planned or not."""
    replan = draw(st.booleans())
    kind = draw(st.sampled_from(["adaptive", "constant", "geometric", "schedule"]))
    if kind == "adaptive":
        return draw(adaptive_strategies())
    if kind == "constant":
        return ConstantRatio(draw(st.integers(1, 12)), replan)
    if kind == "geometric":
        factor = draw(st.fractions(Fraction(11, 10), Fraction(5), max_denominator=20))
        return Geometric(factor, replan)
    return OptimalSchedule(draw(link_chances()), replan)


_counts = st.dictionaries(
    st.tuples(st.integers(1, 4), st.integers(1, 4)), st.integers(0, 500), max_size=6
)


@st.composite
def adaptive_strategies(draw: st.DrawFn) -> Adaptive:
    """After any links; the value without a name is held by any share of the people."""
    gaps = LinkGaps(draw(_counts), draw(_counts), draw(st.integers(0, 6)), draw(st.integers(1, 99)))
    releases = draw(st.one_of(st.none(), st.integers(1, 12)))
    share = draw(st.sampled_from([0.0, 0.001, 0.05, 0.3, 1.0]))
    return Adaptive(releases, gaps, {"": share})


@st.composite
def link_chances(draw: st.DrawFn) -> tuple[Fraction, ...]:
    """Chances that do not increase, the first of them 1."""
    chance = st.fractions(Fraction(1, 1000), Fraction(1), max_denominator=1000)
    later = draw(st.lists(chance, max_size=7))
    return (Fraction(1), *sorted(later, reverse=True))
