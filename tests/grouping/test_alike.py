"""People that need no group have the number of those that are like them, and of nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouping.releases import generated, plan
from model.settings import unhurried
from serigraph.engines.suppression import demand_of
from serigraph.grouping import Grouping, form_groups
from serigraph.grouping.layout import BOX
from serigraph.grouping.numbering import number_alike
from serigraph.model import Past
from serigraph.runtime.randomness import SeededRandomness


@unhurried
@given(
    st.lists(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2)), min_size=1),
    st.sampled_from([np.uint16, np.int32]),
    st.integers(0, 2**15 - 4),
)
def test_numbers_are_those_of_a_plain_form(
    districts: list[list[list[int]]], kind: type[np.integer], low: int
) -> None:
    """Each district is in two cells, one of which may be empty."""
    people = [(2 * low, 4 * each, *codes) for each, some in enumerate(districts) for codes in some]
    codes = np.array(people, dtype=kind).reshape(-1, 4).T.copy()
    ends = np.cumsum([len(some) for some in districts])
    cells = np.zeros((2 * len(districts), BOX + 8), dtype=np.int64)
    for each, (end, some) in enumerate(zip(ends.tolist(), districts, strict=True)):
        middle = end - len(some) // 2
        cells[2 * each, :2] = end - len(some), middle
        cells[2 * each + 1, :2] = middle, end
    order = np.random.default_rng(low).permutation(len(people)).astype(np.uint32)
    codes[:, order] = codes.copy()  # whoever is at place k of the order is person order[k]
    slot = np.full(len(people), 99, dtype=np.uint32)
    district = np.repeat(np.arange(len(districts)), 2)
    table = np.empty(2 << len(people).bit_length(), dtype=np.uint32)
    somebody = np.empty(len(people), dtype=np.uint32)
    numbers = number_alike(codes, order, cells, district, table, slot, somebody)
    number = {kind: n for n, kind in enumerate(dict.fromkeys(people))}
    assert slot.tolist() == [number[each] for each in people]
    assert [tuple(codes[:, each].tolist()) for each in somebody[:numbers]] == list(number)


@pytest.mark.parametrize("people", [300, 40_000])  # in one district, and in many
def test_alike_people_without_a_group_share_a_number(people: int) -> None:
    population = generated("uniform", "rare", people, np.random.default_rng(2))
    population.codes[:] //= 40  # so that many are alike
    demand = demand_of(population.protected, plan("bucketised", "top-down"))
    grouping = form_groups(
        population,
        Past.none(people),
        demand,
        "top-down",
        np.ones(people, dtype=np.uint8),
        SeededRandomness(1).keys(people),
    )
    assert isinstance(grouping, Grouping)
    groups: dict[tuple[int, ...], set[int]] = {}
    kinds: dict[int, set[tuple[int, ...]]] = {}
    for place, number in enumerate(grouping.group.tolist()):
        if grouping.is_point[number]:
            kind = tuple(population.codes[:, place].tolist())
            groups.setdefault(kind, set()).add(number)
            kinds.setdefault(number, set()).add(kind)
    assert len(groups) > 10
    assert max(map(len, groups.values())) == max(map(len, kinds.values())) == 1
