"""The cut that forms new cohorts, made a second time: from quasi-identifiers alone.

People are cut in two until fewer than twice the size of a cohort are left, across the column in
which they differ most, at a multiple of that size. All cells of a level are cut at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = 63  # bits of a word that are used


def cut_blindly(
    codes: NDArray[np.int32], positions: Sequence[NDArray[np.float64]], size: int
) -> NDArray[np.int64]:
    """A number for each person: those with the same number make a cohort of ``size`` or more.

    ``codes`` are [column, person], people ascending by id; ``positions`` say where each code of
    a column lies on its scale.

    >>> codes = np.array([[3, 0, 1, 2, 0]], dtype=np.int32)
    >>> cut_blindly(codes, [np.array([0.0, 0.3, 0.7, 1.0])], 2).tolist()
    [1, 0, 1, 1, 0]
    """
    people = codes.shape[1]
    number = np.zeros(people, dtype=np.int64)
    who = np.arange(people)  # the people of all cells that are left, cell after cell
    length = np.array([people])
    made = 0
    while True:
        is_done = length < 2 * size
        if is_done.any():
            of_done = np.repeat(is_done, length)
            done = length[is_done]
            number[who[of_done]] = np.repeat(np.arange(made, made + len(done)), done)
            made += len(done)
            who, length = who[~of_done], length[~is_done]
        if not len(who):
            return number
        here = [np.take(column, who, mode="clip") for column in codes]
        who = in_order(who, widest_codes(here, positions, length), length)
        left = length // 2 // size * size
        length = np.column_stack([left, length - left]).ravel()


def widest_codes(
    codes: Sequence[NDArray[np.int32]],
    positions: Sequence[NDArray[np.float64]],
    length: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Everybody's code in the column in which its cell is widest, the first of several."""
    begin = np.cumsum(length) - length
    width = [
        at[np.maximum.reduceat(column, begin)] - at[np.minimum.reduceat(column, begin)]
        for column, at in zip(codes, positions, strict=True)
    ]
    widest = np.argmax(width, axis=0)
    of_person = np.repeat(widest.astype(np.int8), length)
    found = codes[0]
    for column, each in enumerate(codes[1:], 1):
        np.copyto(found, each, where=of_person == column)
    return found


def in_order(
    who: NDArray[np.int64], code: NDArray[np.int32], length: NDArray[np.int64]
) -> NDArray[np.int64]:
    """People by cell, then by code, then by place."""
    cell = np.repeat(np.arange(len(length)), length)
    for_place = int(who.max()).bit_length()
    for_code = int(code.max()).bit_length()
    if len(length).bit_length() + for_code + for_place > _WORD:
        return who[np.lexsort((who, code, cell))]
    word = (cell << for_code | code) << for_place | who
    word.sort()
    return word & ((1 << for_place) - 1)
