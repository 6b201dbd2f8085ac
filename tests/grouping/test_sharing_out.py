"""Work on cells is shared out to threads without a part that has nothing to do."""

from __future__ import annotations

import os

import numpy as np
import pytest

from grouping.cases import case, number_line
from grouping.naive import Person
from grouping.test_past import facts_of
from serigraph.grouping.districts import in_threads


@pytest.mark.parametrize("surplus", range(4))
def test_every_part_has_cells_and_none_is_lost(surplus: int) -> None:
    cells = np.arange(2 * (os.cpu_count() or 1) + surplus).reshape(-1, 1)
    lengths: list[int] = []

    def work(_scratch: object, part: np.ndarray) -> np.ndarray:
        lengths.append(len(part))
        return part

    everybody = facts_of(case([Person((0,), frozenset())], [number_line(1)], [], []))
    assert in_threads(everybody, cells, work).tolist() == cells.tolist()
    assert min(lengths) > 0
