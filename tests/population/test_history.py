"""The twice factorised past says what the groups held, however sparse the numbers are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from population.settings import unhurried
from serigraph.population import Exposures, History

_few = st.integers(0, 4)
_far = st.integers(0, 2**31 - 1)


@st.composite
def compositions(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int]]]]:
    """Some groups: the size, and a value and a count for each thing held."""
    number = draw(st.sampled_from([_few, _far]))
    held = st.lists(st.tuples(number, number), max_size=5)
    return draw(st.lists(st.tuples(number, held), max_size=6))


@unhurried
@given(compositions())
def test_exposures_are_what_groups_held(groups: list[tuple[int, list[tuple[int, int]]]]) -> None:
    exposures = Exposures.of(
        lengths=[len(held) for _, held in groups],
        value=[value for _, held in groups for value, _ in held],
        count=[count for _, held in groups for _, count in held],
        size=[size for size, _ in groups],
    )
    parts = (exposures.value, exposures.count, exposures.size)
    told = list(zip(*(part.tolist() for part in parts), strict=True))
    entries = [(value, count, size) for size, held in groups for value, count in held]
    assert [told[number] for number in exposures.number.tolist()] == entries
    assert sorted(told) == sorted(set(entries))


def test_a_subset_keeps_the_groups_of_its_people() -> None:
    groups = np.array([[0, -1], [1, 2], [-1, 2]], dtype=np.int32)
    history = History.of_groups(groups, [1, 2, 1], [0, 0, 1, 1], [1, 1, 2, 1], [4, 5, 6])
    kept = history.subset(np.array([True, False, True]))
    assert kept.groups.tolist() == [[0, -1], [-1, 2]]
    assert kept.groups.flags.c_contiguous
    assert np.array_equal(kept.exposure, history.exposure)
