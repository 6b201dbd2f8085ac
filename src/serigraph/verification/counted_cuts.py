"""The cut of people with the same past, made a second time: from quasi-identifiers and from counts
of whole cells.

A cell is cut in halves if both would have people enough for all holders of the cell. Where in the
cell they are makes no difference. All cells of a level are cut at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.model import ProtectedValue
from serigraph.verification.crowds import most_allowed
from serigraph.verification.cutting import in_order, widest_codes
from serigraph.verification.words import counted


@dataclass(frozen=True)
class Held:
    """Who holds what, each pair of a person and a value once, and what a cell needs for it."""

    holder: NDArray[np.int64]  # places of people
    value: NDArray[np.int64]  # places in ``protected``
    protected: Sequence[ProtectedValue]
    known_members: int
    minimum_size: int


def cut_by_counts(
    codes: NDArray[np.int32],
    positions: Sequence[NDArray[np.float64]],
    past: NDArray[np.int64],
    held: Held,
) -> NDArray[np.int64]:
    """A number for each person: those with the same number make a cell, of people who have the same
    ``past``. ``codes`` and ``positions`` are as for ``cut_blindly``.

    >>> from fractions import Fraction
    >>> codes = np.array([[3, 0, 1, 2, 0]], dtype=np.int32)
    >>> one = Held(np.array([4]), np.array([0]), [ProtectedValue("s", Fraction(1, 2))], 0, 1)
    >>> cut_by_counts(codes, [np.arange(4.0)], np.zeros(5, dtype=np.int64), one).tolist()
    [3, 0, 1, 2, 0]
    """
    people = codes.shape[1]
    number = np.zeros(people, dtype=np.int64)
    who = np.argsort(past, kind="stable")  # the people of all cells that are left
    _, length = counted(past)
    holder, value = held.holder, held.value
    made = 0
    while len(who):
        number[who] = made + np.repeat(np.arange(len(length)), length)
        is_cut = _may_be_cut(length, number[holder] - made, value, held)
        is_left = np.repeat(is_cut, length)
        done = length[~is_cut]
        number[who[~is_left]] = np.repeat(np.arange(made, made + len(done)), done)
        made += len(done)
        still = np.zeros(people, dtype=np.bool_)
        still[who[is_left]] = True
        holder, value = holder[still[holder]], value[still[holder]]
        who, length = who[is_left], length[is_cut]
        if len(who):
            here = [np.take(column, who, mode="clip") for column in codes]
            who = in_order(who, widest_codes(here, positions, length), length)
            length = np.column_stack([length // 2, length - length // 2]).ravel()
    return number


def _may_be_cut(
    length: NDArray[np.int64], cell: NDArray[np.int64], value: NDArray[np.int64], held: Held
) -> NDArray[np.bool_]:
    """Which cells of these sizes are cut, from pairs of the cell of a holder and a value."""
    half = length // 2  # the smaller one
    is_cut = half >= max(held.minimum_size, 1)
    values = max(len(held.protected), 1)
    entry, count = counted(cell * values + value)
    cell, value = np.divmod(entry, values)
    sizes, place = np.unique(half[cell], return_inverse=True)
    most = most_allowed(sizes, held.protected, held.known_members)
    is_cut[cell[count > most[value, place]]] = False
    return is_cut
