"""How the data contradict the assumption that releases are independent of each other."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serigraph.model.recurrence import Attendance, recurrences
from serigraph.privacy.persistence import LUCK, MARGIN, Recurrence, Return

RETURN_RATE = 0.8


@st.composite
def returns(draw: st.DrawFn, largest: int = 12) -> Return:
    back = draw(st.integers(1, largest))
    returned = draw(st.integers(0, back))
    kept = draw(st.integers(0, returned))
    return Return(back, kept + draw(st.integers(0, back - returned)), returned, kept)


def chance_of(each: Return, kept: int) -> Fraction:
    """The hypergeometric chance that this many of the returned holders keep the value."""
    ways = math.comb(each.returned, kept) * math.comb(
        each.back - each.returned, each.holders - kept
    )
    return Fraction(ways, math.comb(each.back, each.holders))


def tail(seen: list[Return]) -> Fraction:
    """The exact chance that at least as many people keep the value, by enumeration."""
    kept = sum(each.kept for each in seen)
    ways = product(*(range(min(each.returned, each.holders) + 1) for each in seen))
    return sum(
        (
            math.prod(chance_of(each, number) for each, number in zip(seen, way, strict=True))
            for way in ways
            if sum(way) >= kept
        ),
        Fraction(0),
    )


@given(st.lists(returns(), min_size=1, max_size=3))
def test_luck_is_at_least_the_exact_tail(seen: list[Return]) -> None:
    assert Recurrence.of(seen).luck() >= float(tail(seen)) * (1 - 1e-12)


@given(st.lists(returns(), min_size=1, max_size=3))
def test_counts_and_chance_add_up(seen: list[Return]) -> None:
    found = Recurrence.of(seen)
    mean = sum(
        number * chance_of(each, number)
        for each in seen
        for number in range(min(each.returned, each.holders) + 1)
    )
    assert found.expected == mean
    assert found.kept == sum(each.kept for each in seen)
    assert (found.share is None) == (found.returned == 0) == (found.chance is None)


def test_counts_that_do_not_fit_are_refused() -> None:
    for wrong in ((5, 2, 2, 3), (5, 6, 2, 2), (5, 5, 3, 2), (5, 1, 2, 2)):
        with pytest.raises(ValueError, match="do not fit"):
            Return(*wrong)


def test_nothing_is_concluded_where_nobody_came_back() -> None:
    nobody = Recurrence.of([Return(50, 5, 0, 0)])
    assert nobody.luck() == 1
    assert not nobody.contradicts_independence()
    assert nobody == Recurrence.of([])


def test_a_value_that_nobody_holds_any_more_can_tell() -> None:
    gone = Recurrence.of([Return(500, 0, 40, 0)])
    assert gone.luck() == 1
    assert gone.is_telling()
    assert not gone.contradicts_independence()


def test_a_value_that_everybody_holds_tells_nothing() -> None:
    assert not Recurrence.of([Return(500, 500, 400, 400)]).contradicts_independence()


def test_a_value_that_excludes_itself_is_not_called_persistent() -> None:
    once = Recurrence.of([Return(1000, 100, 100, 0)])
    assert once.odds_ratio == 0
    assert not once.contradicts_independence()


@pytest.mark.parametrize("share", ["1/50", "1/10", "1/3", "1/2", "2/3"])
@pytest.mark.parametrize(("q", "passes"), [("1/6", True), ("1/5", False), ("1/2", False)])
def test_the_margin_lies_between_a_sixth_and_a_fifth(share: str, q: str, passes: bool) -> None:
    """A value that is kept with chance q and otherwise drawn anew, in expected counts; how common
    it is matters only for smaller q."""
    h, keeps, people = Fraction(share), Fraction(q), 10**9
    kept = round(people * h * (keeps + (1 - keeps) * h))
    found = Recurrence.of([Return(people, round(people * h), round(people * h), kept)])
    ratio = found.odds_ratio
    assert ratio is not None
    assert ratio > ((1 + keeps) / (1 - keeps)) ** 2 - Fraction(1, 10**6)
    if share == "1/2" or not passes:
        assert found.contradicts_independence() is not passes
        assert (ratio > MARGIN) is not passes


def test_many_values_share_the_luck_allowed() -> None:
    found = Recurrence.of([Return(1000, 18, 16, 4)])
    assert LUCK / 10 < found.luck() < LUCK
    assert found.contradicts_independence()
    assert not found.contradicts_independence(values=10)


def panel(
    seed: int, people: int, share: float, keeps: float, releases: int, values: int = 1
) -> list[Attendance]:
    """People of whom this share hold each of some values, keep it with this chance, and otherwise
    draw anew; four in five come to each release."""
    draw = np.random.default_rng(seed)
    chances = [*[share] * values, 1 - share * values]
    held = draw.choice(values + 1, people, p=chances)
    found = []
    for _ in range(releases):
        here = np.flatnonzero(draw.random(people) < RETURN_RATE)
        holder = here[held[here] < values]
        found.append(Attendance(here, holder, held[holder]))
        anew = draw.choice(values + 1, people, p=chances)
        held = np.where(draw.random(people) < keeps, held, anew)
    return found


def is_refused(seen: list[Attendance], values: int = 1) -> bool:
    return any(each.contradicts_independence(values) for each in recurrences(seen, values))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("people", "seeds"), [(60, 150), (1000, 100), (8000, 15)])
def test_independent_values_hardly_ever_look_persistent(
    people: int, seeds: int, share: float
) -> None:
    """With more seeds: none of 12,240 series of six releases, looked at after each of them."""
    for seed in range(seeds):
        seen = panel(seed, people, share, 0, 4)
        assert not any(is_refused(seen[:releases]) for releases in (2, 3, 4))


def test_independent_values_hardly_ever_look_persistent_if_there_are_many() -> None:
    assert not any(is_refused(panel(seed, 1000, 0.02, 0, 4, values=40), 40) for seed in range(60))


@pytest.mark.parametrize("share", [0.02, 0.03])
@pytest.mark.parametrize("keeps", [0.2, 0.5, 0.8, 1.0])
def test_persistent_values_are_found_out_in_the_second_release(share: float, keeps: float) -> None:
    assert all(is_refused(panel(seed, 8000, share, keeps, 2)) for seed in range(15))


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_recurrences_agree_with_plain_counting(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, people = int(draw.integers(1, 4)), int(draw.integers(1, 12))
    seen: list[Attendance] = []
    for _ in range(int(draw.integers(0, 6))):
        here = np.flatnonzero(draw.random(people) < 0.7)
        person, value = np.nonzero(draw.random((len(here), values)) < 0.4)
        is_recorded = draw.random() < 0.8
        order = draw.permutation(len(person))
        seen.append(
            Attendance(
                here,
                here[person][order] if is_recorded else None,
                value[order] if is_recorded else None,
            )
        )
    assert recurrences(seen, values) == plainly(seen, values)


def plainly(seen: list[Attendance], values: int) -> tuple[Recurrence, ...]:
    last: dict[int, set[int] | None] = {}
    found: list[list[Return]] = [[] for _ in range(values)]
    for each in seen:
        now: dict[int, set[int] | None] = dict.fromkeys(each.present.tolist())
        if each.holder is not None and each.value is not None:
            pairs = list(zip(each.holder.tolist(), each.value.tolist(), strict=True))
            now = {person: {v for p, v in pairs if p == person} for person in now}
            back = [(last[p], held) for p, held in now.items() if last.get(p) is not None]
            for value in range(values):
                both = [(value in (was or ()), value in (held or ())) for was, held in back]
                found[value].append(
                    Return(
                        len(both),
                        sum(held for _, held in both),
                        sum(was for was, _ in both),
                        sum(was and held for was, held in both),
                    )
                )
        last |= now
    return tuple(Recurrence.of(each) for each in found)


def test_a_person_counts_by_the_last_release_it_was_in() -> None:
    everybody, nobody = np.arange(4), np.array([], dtype=np.int64)
    one, first = np.array([0]), np.array([0])
    seen = [Attendance(everybody, one, first), Attendance(np.arange(1, 4), nobody, nobody)]
    (found,) = recurrences([*seen, Attendance(everybody, one, first)], 1)
    assert (found.returned, found.kept) == (1, 1)
