"""The cuts of a cell and their scores, beside a plain form that looks at every place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from random import Random
from typing import NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouping.cases import Case, cases
from grouping.test_past import facts_of
from model.settings import about, unhurried
from serigraph.grouping import whole_box, whole_cell
from serigraph.grouping.counts import clear, tally
from serigraph.grouping.cuts import FORESIGHT, WASTEFUL, CutRules, list_cuts
from serigraph.grouping.cutting import CROWDED
from serigraph.grouping.large_cells import Trial, weigh_cuts
from serigraph.grouping.layout import BOX, COMPETING, SLACK, Cell, GroupingInput
from serigraph.grouping.problem import scratch
from serigraph.grouping.sorted_cell import sorted_cell


class Asked(NamedTuple):
    """How the cuts of a cell are listed."""

    size: int
    least: int
    is_crowded: bool
    is_blind: bool


@numba.njit
def listed(f, s, order, box, asked):  # type: ignore[no-untyped-def]
    """The cuts with their scores, and the people in the order of each column."""
    everybody = Cell(0, len(order))
    weight, touched = tally(f, s, order, everybody)
    clear(s, touched)
    touched = np.int64(0) if asked.is_blind else touched
    view = sorted_cell(f, s, order, everybody, np.int64(len(order)), touched)
    rules = CutRules(weight, asked.size, asked.least, asked.is_crowded, asked.is_blind, False)
    found = list_cuts(f, view, box, everybody, rules)
    return view.cuts[:found], view.score[:found], view.who, view.ranked


def plainly_listed(
    f: GroupingInput, box: list[int], ranked: list[list[int]], asked: Asked
) -> Iterator[tuple[tuple[int, int, int], float]]:
    """The same by its definition: each place of each column's order is looked at."""
    for d, order in enumerate(ranked):
        codes = [int(f.codes[d, person]) for person in order]
        if codes[0] == codes[-1]:
            continue
        for i in range(len(order) - 1, 0, -1):
            sides = order[:i], order[i:]
            weights = [sum(int(f.weight[person]) for person in side) for side in sides]
            if min(weights) < asked.least:
                continue
            needs = [0.0 if asked.is_blind else need(f, side, asked.size) for side in sides]
            if not all(n <= w * (1 + SLACK) for n, w in zip(needs, weights, strict=True)):
                continue
            code = codes[i - 1] if f.interleave else border(f, d, codes[i - 1], codes[i], box)
            if (f.interleave and i % asked.size) or code is None:
                continue
            score = sum(len(side) * width(f, side) for side in sides)
            if not f.interleave:
                if len(sides[1]) % asked.size > len(order) % asked.size:
                    score *= WASTEFUL
                if asked.is_crowded:
                    score *= 1 + FORESIGHT * sum(needs) / len(order)
            yield (d, i, code), score


def need(f: GroupingInput, side: list[int], size: int) -> float:
    """What the values of a side need."""
    holders = Counter(
        int(value)
        for person in side
        for value in f.held[f.held_start[person] : f.held_start[person + 1]]
    )
    if not f.interleave:
        asked = (number * f.base[value] + f.known for value, number in holders.items())
        return max(asked, default=0.0)
    room = max(size - f.known, 0) * (1 + SLACK)
    caps = {value: int(room / f.base[value]) or 1 for value in holders}
    return max((-(-number // caps[value]) * size for value, number in holders.items()), default=0)


def border(f: GroupingInput, d: int, left: int, right: int, box: list[int]) -> int | None:
    """The code behind which a region may be cut, if it may be."""
    position = f.position[f.offset[d] :]
    if position[left] == position[right]:
        return None
    if not f.has_taxonomy[d]:
        return left
    depth = f.divergence[f.offset[d] :]
    low, high = box[BOX + d], box[BOX + len(f.codes) + d]
    shallowest = min(depth[low:high], default=depth[low])
    return next((code for code in range(left, right) if depth[code] == shallowest), None)


def width(f: GroupingInput, side: list[int]) -> float:
    at = f.position[f.offset[:, None] + f.codes[:, side]]
    return float(np.minimum(at.max(axis=1) - at.min(axis=1), 1.0).sum())


@about(50)
@given(cases(), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_cuts_are_those_that_a_plain_form_finds(
    problem: Case, size: int, least: int, is_blind: bool
) -> None:
    f = facts_of(problem)
    s = scratch(f)
    order = np.arange(len(problem.people), dtype=np.uint32)
    box = whole_cell(len(order), whole_box(problem.population.domains))[0]
    if f.interleave:
        least = max(least, size)  # groups are whole
    needed = need(f._replace(interleave=False), order.tolist(), size)
    is_crowded = not is_blind and not f.interleave and needed > CROWDED * len(order)
    asked = Asked(size, least, is_crowded, is_blind)
    cuts, scores, who, ranked = listed(f, s, order, box, asked)
    plain = list(plainly_listed(f, box.tolist(), who[ranked].tolist(), asked))
    assert [tuple(cut) for cut in cuts.tolist()] == [cut for cut, _ in plain]
    assert scores.tolist() == pytest.approx([score for _, score in plain])
    for d, people in enumerate(who[ranked]):
        assert sorted(people) == order.tolist()
        assert (np.diff(f.codes[d, people]) >= 0).all()


@numba.njit
def weighed(f, s, order, cuts, size, is_blind):  # type: ignore[no-untyped-def]
    everybody = Cell(0, len(order))
    weight, touched = np.int64(len(order)), np.int64(0)
    if not is_blind:
        weight, touched = tally(f, s, order, everybody)
    needed = np.empty(COMPETING)
    trial = Trial(cuts, np.empty(COMPETING), needed, order, weight, touched)
    rules = CutRules(weight, size, size, False, is_blind, False)
    weigh_cuts(f, s, order, everybody, rules, trial)
    clear(s, touched)
    return needed


@unhurried
@given(cases(interleave=False), st.integers(1, 6), st.booleans(), st.randoms())
def test_cuts_weigh_what_a_plain_form_says(
    problem: Case, size: int, is_blind: bool, random: Random
) -> None:
    f = facts_of(problem)
    s = scratch(f)
    order = np.arange(len(problem.people), dtype=np.uint32)
    cuts = np.zeros((COMPETING, 3), dtype=np.int64)
    cuts[:, 0] = [random.randrange(len(f.codes)) for _ in cuts]
    cuts[:, 1] = [random.randrange(problem.population.domains[d].size) for d in cuts[:, 0]]
    for _ in range(2):  # nothing of the first time is left for the second
        for (d, code, _), found in zip(
            cuts.tolist(), weighed(f, s, order, cuts, size, is_blind).tolist(), strict=True
        ):
            is_left = f.codes[d] <= code
            sides = order[is_left].tolist(), order[~is_left].tolist()
            weights = [len(side) if is_blind else int(f.weight[side].sum()) for side in sides]
            needs = [0.0 if is_blind else need(f, side, size) for side in sides]
            fits = [n <= w * (1 + SLACK) for n, w in zip(needs, weights, strict=True)]
            is_valid = min(weights) >= size and all(fits)
            assert found == pytest.approx(sum(needs) if is_valid else inf)
