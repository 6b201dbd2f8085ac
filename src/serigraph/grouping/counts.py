"""Counts: how many people in a cell hold each value, and the group sizes that this requires."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.layout import FEW, SLACK, Cell, GroupingInput, Scratch
from serigraph.runtime.compiled import int64, kernel_helper

LARGEST = 1e15  # caps the people asked for: a target may be infinite


@kernel_helper
def value_range(f: GroupingInput, person: int) -> tuple[int, int]:
    """The range of the values that a ``person`` holds; looked up only if some hold several."""
    begin, end = int64(person), int64(person) + 1
    if not f.holds_one:
        begin, end = f.held_start[person], f.held_start[person + 1]
    return begin, end


@kernel_helper
def tally(f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell) -> tuple[int, int]:
    """Count the people and the values of a cell; returns (n, number of values touched)."""
    n = int64(0)
    touched = int64(0)
    for i in range(cell.begin, cell.end):
        person = people[i]
        n += f.weight[person]
        begin, end = value_range(f, person)
        for h in range(begin, end):
            value = f.held[h]
            s.touched[touched] = value
            touched += s.holders[value] == 0
            s.holders[value] += 1
    return n, touched


@kernel_helper
def clear(s: Scratch, touched: int) -> None:
    """Reset a tally."""
    for t in range(touched):
        s.holders[s.touched[t]] = 0


@kernel_helper
def sort_values(s: Scratch, touched: int) -> None:
    """Sort the touched values by number."""
    for t in range(1, touched):
        value, k = s.touched[t], t
        while k > 0 and s.touched[k - 1] > value:
            s.touched[k] = s.touched[k - 1]
            k -= 1
        s.touched[k] = value


@kernel_helper
def cover(f: GroupingInput, n: int) -> int:
    """The people among whom the adversary has to choose in a group of ``n`` with a value."""
    return max(n - f.known, 0)


@kernel_helper
def size_for(f: GroupingInput, asked: float) -> float:
    """The size of a group in which this many people are ``asked`` for as cover: the known ones come
    on top, unless nothing is asked."""
    return asked + f.known if asked > 0.0 else 0.0


@kernel_helper
def has_counts(f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell) -> bool:
    """Whether the values' shares alone, without the past, allow the cell; cheap and necessary."""
    n, touched = tally(f, s, people, cell)
    size = group_size(f, s, touched) if f.interleave else n
    is_valid = n >= f.minimum_size and (touched == 0 or counts_fit(f, s, f.base, touched, n, size))
    clear(s, touched)
    return is_valid


@kernel_helper
def counts_fit(
    f: GroupingInput, s: Scratch, need: NDArray[np.float64], touched: int, n: int, size: int
) -> bool:
    """Whether the counts let n people be dealt into groups of ``size`` with ``need`` members per
    holder of a value."""
    groups = max(n // max(size, 1), 1)
    even = cover(f, n // groups)
    fit = True
    for t in range(touched):
        value = s.touched[t]
        fit = fit and s.holders[value] <= groups * int(even * (1.0 + SLACK) / need[value])
    return fit


@kernel_helper
def group_size(f: GroupingInput, s: Scratch, touched: int) -> int:
    """The smallest size in which every touched value may have one holder."""
    size = max(f.minimum_size, 1)
    for t in range(touched):
        size = max(size, int(np.ceil(f.base[s.touched[t]] * (1.0 - SLACK))) + f.known)
    return size


@kernel_helper
def size_needed(f: GroupingInput, s: Scratch, touched: int) -> float:
    """The size that the counts of its values require of a cell as one group."""
    need = 0.0
    for t in range(touched):
        need = max(need, s.holders[s.touched[t]] * f.base[s.touched[t]])
    return size_for(f, need)


@kernel_helper
def holders_in(f: GroupingInput, people: NDArray[np.uint32], cell: Cell) -> tuple[int, int]:
    """How many people of a cell hold something protected, and how many groups they need so that
    each can have one alone. The latter is worked out only for few holders of whom some hold several
    values (sets may exclude each other in ways that counts do not show); otherwise it is 0."""
    holders, held = int64(0), int64(0)
    for i in range(cell.begin, cell.end):
        begin, end = value_range(f, people[i])
        holders += begin < end
        held += end - begin
    return holders, holders if held > holders and holders <= FEW else int64(0)


@kernel_helper
def room_for_all(
    f: GroupingInput, s: Scratch, touched: int, size: int, knows_needs: bool, apart: int
) -> int:
    """How many people a side of a cut needs so that it could take every holder of the cell. Where
    groups of ``size`` interleave, holders of sets need ``apart`` of them. If ``s`` ``knows_needs``,
    the targets are those of the cell's own people."""
    room = size
    if f.interleave:
        largest = size
        for t in range(touched if knows_needs else 0):
            largest = max(largest, int(np.ceil(min(s.need[s.touched[t]], LARGEST))) + f.known)
        room = max(room, apart * largest)
    for t in range(touched):
        value = s.touched[t]
        holders = s.holders[value]
        need = s.need[value] if knows_needs else f.base[value]
        if not f.interleave:
            needed = int(np.ceil(min(holders * need, LARGEST) * (1.0 - SLACK))) + f.known
        elif knows_needs:
            needed = holders * (int(np.ceil(min(need, LARGEST) * (1.0 - SLACK))) + f.known)
        else:
            cap = max(int(cover(f, size) * (1.0 + SLACK) / need), 1)
            needed = (holders + cap - 1) // cap * size
        room = max(room, needed)
    return room
