"""Cuts depend on quasi-identifiers, and cells bear what they hold."""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cohorts.people import population
from serigraph.cohorts.cutting import Held, Space, cut_blind, cut_counting, unfit


def plainly_cut(space: Space, size: int) -> list[list[int]]:
    """The same by lists and sorting."""

    def cut(places: list[int]) -> list[list[int]]:
        if len(places) < 2 * size:
            return [sorted(places)]
        widths = []
        for d, codes in enumerate(space.codes):
            at = space.position[space.offset[d] :]
            widths.append(at[max(codes[i] for i in places)] - at[min(codes[i] for i in places)])
        widest = int(np.argmax(widths))
        ordered = sorted(places, key=lambda i: (space.codes[widest][i], i))
        left = len(places) // 2 // size * size
        return cut(ordered[:left]) + cut(ordered[left:])

    return cut(list(range(space.codes.shape[1])))


def cells_of(cell: NDArray[np.int64]) -> list[list[int]]:
    return [np.flatnonzero(cell == number).tolist() for number in range(int(cell.max()) + 1)]


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 30), st.integers(1, 4), st.integers(0, 10**6))
def test_blind_cells_are_those_of_a_plain_cut(
    people: int, size: int, columns: int, seed: int
) -> None:
    space = Space.of(population(range(people), {}, columns=columns, seed=seed))
    cell = cut_blind(space, size)
    assert cells_of(cell) == plainly_cut(space, size)
    sizes = np.bincount(cell)
    assert len(sizes) == 1 or (size <= sizes.min() and sizes.max() < 2 * size)


def units_at_random(seed: int, units: int, values: int) -> tuple[Space, Held]:
    rng = np.random.default_rng(seed)
    space = Space.of(population(range(units), {}, seed=seed))
    count = rng.integers(0, 2, (units, values)) * (rng.random((units, values)) < 0.3)
    unit, value = np.nonzero(count)
    size = rng.integers(4, 9, units)
    rows = units if seed % 2 else 1
    return space, Held(
        size=size,
        start=np.searchsorted(unit, np.arange(units + 1)),
        value=value.astype(np.int32),
        holders=count[unit, value].astype(np.int64),
        need=rng.uniform(1, 12, (rows, values)),
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("known", [0, 2])
def test_every_cell_bears_what_it_holds(seed: int, known: int) -> None:
    space, held = units_at_random(seed, units=60, values=3)
    if len(unfit(held, known)):
        return
    cell = cut_counting(space, held, known)
    for units in cells_of(cell):
        people = held.size[units].sum() - known
        for v in range(3):
            holders = sum(
                held.holders[e]
                for u in units
                for e in range(held.start[u], held.start[u + 1])
                if held.value[e] == v
            )
            need = held.need[units, v].max() if len(held.need) > 1 else held.need[0, v]
            assert not holders or holders * need <= people * (1 + 1e-9)


@pytest.mark.parametrize("holders", [3, 6])
@pytest.mark.parametrize("seed", range(20))
def test_where_holders_are_makes_no_difference(seed: int, holders: int) -> None:
    """Holders at any units of the cell that they are in together: the same cells."""
    units, rng = 24, np.random.default_rng(seed)
    space = Space.of(population(range(units), {}, seed=seed))
    need = np.full((1, 1), float(rng.integers(2, 12)))

    def cells_with(holding: list[int]) -> list[list[int]]:
        start = np.searchsorted(np.sort(holding), np.arange(units + 1))
        ones = np.ones(len(holding), dtype=np.int64)
        held = Held(
            np.full(units, 4),
            start,
            np.zeros(len(holding), np.int32),
            ones,
            need,
        )
        return cells_of(cut_counting(space, held, 0))

    few = list(range(holders))
    first = cells_with(few)
    together = [each for each in first if set(few) <= set(each)]
    for others in islice(combinations(together[0] if together else [], holders), 0, None, 97):
        assert cells_with(list(others)) == first
