"""Finds the published regions that each person lies in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel


@kernel
def matching_regions(
    codes: NDArray[np.int32],
    label: NDArray[Any],
    admits: NDArray[np.bool_],
    offset: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The regions that each person lies in: two arrays of equal length, person and region.

    ``codes`` has one row a person, in lexicographic order; ``label[region, column]`` is the cell of
    a region; ``admits[offset[column] + cell, code]`` says whether a cell holds a code. Regions that
    the first columns leave over are kept from person to person for as long as these columns agree.
    """
    people, columns = codes.shape
    regions = len(label)
    left = np.empty((columns + 1, regions), dtype=np.int64)
    number = np.zeros(columns + 1, dtype=np.int64)
    left[0] = np.arange(regions)
    number[0] = regions
    person = [np.int64(0) for _ in range(0)]
    region = [np.int64(0) for _ in range(0)]
    for i in range(people):
        first = 0
        if i > 0:
            while first < columns and codes[i, first] == codes[i - 1, first]:
                first += 1
        for c in range(first, columns):
            kept = 0
            for k in range(number[c]):
                r = left[c, k]
                if admits[offset[c] + label[r, c], codes[i, c]]:
                    left[c + 1, kept] = r
                    kept += 1
            number[c + 1] = kept
        for k in range(number[columns]):
            person.append(np.int64(i))
            region.append(left[columns, k])
    return np.array(person, dtype=np.int64), np.array(region, dtype=np.int64)
