"""Cuts through quasi-identifiers: halves of neighbours, and halves again.

A cell is cut across its widest column, in the order of codes and, among equal codes, of places. So
a cut depends on quasi-identifiers alone, and anybody can repeat it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population
from serigraph.runtime.compiled import int64, kernel, kernel_helper

_HALF = 32  # bits of a word
_PLACE = 2**_HALF - 1
_SLACK = 1e-12  # a rounding error must not make a cell miss a whole-number target


class Space(NamedTuple):
    """Where people, or units of people, lie."""

    codes: NDArray[np.int32]  # [column, place]
    position: NDArray[np.float64]  # of all columns' codes, concatenated
    offset: NDArray[np.int64]  # where each column begins in ``position``

    @staticmethod
    def of(population: Population) -> Space:
        """The space that the people of a population lie in."""
        positions = [domain.positions() for domain in population.domains]
        return _space(population.codes, positions)

    def centres(self, unit: NDArray[np.int64], units: int) -> Space:
        """The space of the centres of units of people."""
        people = np.maximum(np.bincount(unit, minlength=units), 1)
        codes, positions = [], []
        for number, column in enumerate(self.codes):
            at = self.position[self.offset[number] + column]
            centre = np.bincount(unit, at, minlength=units) / people
            distinct, code = np.unique(centre, return_inverse=True)
            positions.append(distinct)
            codes.append(code)
        return _space(np.array(codes), positions)

    def subset(self, kept: NDArray[np.integer]) -> Space:
        """Some of the people only."""
        return self._replace(codes=np.ascontiguousarray(self.codes[:, kept]))


def _space(codes: NDArray[np.integer], positions: list[NDArray[np.float64]]) -> Space:
    lengths = [len(each) for each in positions]
    return Space(
        np.ascontiguousarray(codes, dtype=np.int32),
        np.concatenate(positions),
        np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
    )


class Held(NamedTuple):
    """What units hold, and what is required of a cell that holds it."""

    size: NDArray[np.int64]  # people in each unit who may hold it
    start: NDArray[np.int64]  # where the values of each unit begin
    value: NDArray[np.int32]
    holders: NDArray[np.int64]  # people of the unit who hold it
    need: NDArray[np.float64]  # [unit, value] people per holder; one row if it is the same for all


def cut_blind(space: Space, size: int) -> NDArray[np.int64]:
    """Cells of ``size`` people or more, fewer than twice as many: the cell of each person.

    Cells are numbered from 0 on. With fewer people there is one cell.
    """
    cell = np.empty(space.codes.shape[1], dtype=np.int64)
    _cut_people(space, size, cell)
    return cell


def cut_counting(space: Space, held: Held, known: int, least: int = 0) -> NDArray[np.int64]:
    """Cells of units that bear what they hold, of ``least`` people or more: the cell of each unit.

    A cell is cut in halves if each of them has enough people, apart from ``known`` ones, for all
    holders of the cell: where they are makes no difference.
    """
    cell = np.empty(len(held.size), dtype=np.int64)
    _cut_units(space, held, known, least, cell)
    return cell


def unfit(held: Held, known: int) -> NDArray[np.int32]:
    """The values that do not fit even if all units are one cell."""
    values = held.need.shape[1]
    holders = np.bincount(held.value, held.holders, minlength=values)
    need = held.need.max(axis=0, initial=0)
    people = held.size.sum() - known
    return np.flatnonzero((holders > 0) & (need * holders > people * (1 + _SLACK))).astype(np.int32)


@kernel
def _cut_people(space: Space, size: int, cell: NDArray[np.int64]) -> None:
    """Write the ``cell`` of each person of a ``space``; cells have ``size`` people or more."""
    people = len(cell)
    key = np.arange(people)
    ends = np.zeros(64, dtype=np.int64)  # the cells that are still to cut, right ones below
    ends[0] = people
    left, begin, cells = 1, int64(0), int64(0)
    while left > 0:
        end = ends[left - 1]
        if end - begin < 2 * size:
            for i in range(begin, end):
                cell[key[i] & _PLACE] = cells
            cells += 1
            begin = end
            left -= 1
        else:
            middle = begin + (end - begin) // 2 // size * size
            _halve(space, key, begin, middle, end)
            ends[left] = middle
            left += 1


@kernel
def _cut_units(space: Space, held: Held, known: int, least: int, cell: NDArray[np.int64]) -> None:
    """Write the ``cell`` of each unit of a ``space``; cells have ``least`` people or more.

    ``held`` is what units hold, and ``known`` how many members of a cell do not count.
    """
    units, values = len(cell), held.need.shape[1]
    key = np.arange(units)
    ends = np.zeros(64, dtype=np.int64)
    ends[0] = units
    left, begin, cells = 1, int64(0), int64(0)
    holders = np.zeros(values, dtype=np.int64)  # on both sides
    need = np.zeros((2, values))
    people = np.zeros(2, dtype=np.int64)
    while left > 0:
        end = ends[left - 1]
        middle = begin + (end - begin) // 2
        is_cut = middle > begin
        if is_cut:
            _halve(space, key, begin, middle, end)
            holders[:] = 0
            _count(held, key, begin, middle, 0, holders, need, people)
            _count(held, key, middle, end, 1, holders, need, people)
            is_cut = min(people[0], people[1]) >= least
            is_cut = is_cut and _both_bear(holders, need, people, known)
        if is_cut:
            ends[left] = middle
            left += 1
        else:
            for i in range(begin, end):
                cell[key[i] & _PLACE] = cells
            cells += 1
            begin = end
            left -= 1


@kernel_helper
def _count(
    held: Held,
    key: NDArray[np.int64],
    begin: int,
    end: int,
    side: int,
    holders: NDArray[np.int64],
    need: NDArray[np.float64],
    people: NDArray[np.int64],
) -> None:
    """Count ``people`` of one ``side`` of a cut, the units of ``held`` at places ``begin`` to
    ``end`` of ``key``, and the largest ``need`` of each value among them; add its ``holders``."""
    values = len(holders)
    for v in range(values):
        need[side, v] = held.need[0, v] if len(held.need) == 1 else 0.0
    people[side] = 0
    for i in range(begin, end):
        unit = key[i] & _PLACE
        people[side] += held.size[unit]
        for e in range(held.start[unit], held.start[unit + 1]):
            holders[held.value[e]] += held.holders[e]
        if len(held.need) > 1:
            for v in range(values):
                need[side, v] = max(need[side, v], held.need[unit, v])


@kernel_helper
def _both_bear(
    holders: NDArray[np.int64],
    need: NDArray[np.float64],
    people: NDArray[np.int64],
    known: int,
) -> bool:
    """Whether each side of a cut has enough ``people`` for the ``holders`` of both, by the ``need``
    of each value; ``known`` people do not count."""
    for side in range(2):
        room = (people[side] - known) * (1 + _SLACK)
        for v in range(len(holders)):
            if holders[v] > 0 and holders[v] * need[side, v] > room:
                return False
    return True


@kernel_helper
def _halve(space: Space, key: NDArray[np.int64], begin: int, middle: int, end: int) -> None:
    """Order the places ``begin`` to ``end`` of ``key`` so that those before ``middle`` come first
    in the widest column of the ``space``. A key has a code above and a place below."""
    widest, width = 0, -1.0
    for d in range(len(space.codes)):
        low = high = space.codes[d, key[begin] & _PLACE]
        for i in range(begin, end):
            code = space.codes[d, key[i] & _PLACE]
            low, high = min(low, code), max(high, code)
        spread = space.position[space.offset[d] + high] - space.position[space.offset[d] + low]
        if spread > width:
            widest, width = d, spread
    for i in range(begin, end):
        place = key[i] & _PLACE
        key[i] = int64(space.codes[widest, place]) << _HALF | place
    _select(key, begin, middle, end)


@kernel_helper
def _select(key: NDArray[np.int64], begin: int, middle: int, end: int) -> None:
    """Bring the smallest entries of ``key`` between ``begin`` and ``end`` before ``middle``."""
    low, high = begin, end - 1
    while low < high:
        pivot = key[(low + high) // 2]
        i, k = low, high
        while i <= k:
            while key[i] < pivot:
                i += 1
            while key[k] > pivot:
                k -= 1
            if i <= k:
                key[i], key[k] = key[k], key[i]
                i += 1
                k -= 1
        if middle <= k:
            high = k
        elif middle >= i:
            low = i
        else:
            return
