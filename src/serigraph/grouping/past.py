"""The past: what earlier releases leave for the next one, person by person.

The only module of grouping that walks the past. In innermost loops, indices are made unsigned:
Numba then need not check for negative ones, which takes a tenth of the walk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import clear, cover, size_needed, tally
from serigraph.grouping.layout import (
    FAILED,
    PAST_BATCH,
    PLAIN,
    SLACK,
    VALID,
    Cell,
    GroupingInput,
    Scratch,
)
from serigraph.runtime.compiled import int64, kernel, kernel_helper

SMALLEST = 1e-300  # clamps survival, to avoid slow denormals
SPENT = 1e-13  # relative survival left that may be a rounding error


@kernel_helper
def next_target(rules: NDArray[np.float64], rule: int, links: int, survival: float) -> float:
    """The ratio required for the next link of a pair; the floating-point twin of Strategy.ratio.

    ``rule`` is a row of ``rules``, those of the input; ``links`` and ``survival`` are the pair's so
    far.
    """
    left = survival - rules[rule, 0]
    target = np.inf
    if left > SPENT * survival:
        target = rules[rule, 1] * survival / left
        ratios = int(rules[rule, 2])
        shares = int(rules[rule, 3])
        if ratios > 0:
            target = max(target, rules[rule, 7 + min(links, ratios - 1)])
        if shares > 0:
            share = rules[rule, 7 + ratios + min(links, shares - 1)]
            budget = -np.log1p(-left / survival)
            least = max(min(rules[rule, 5], budget / 2.0), rules[rule, 6])
            spent = max(min(share * budget, budget - rules[rule, 4]), least)
            target = max(target, -1.0 / np.expm1(-spent))
    return target


@kernel_helper
def find_past(f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell) -> None:
    """Write to ``s.spans``, for up to PAST_BATCH people, where the exposures of each past group
    begin and end, and behind them the number of groups.

    Reads both ends of everybody's row first, and touches every group's exposures before the walk
    does. No read depends on another person's or group's, so the memory accesses overlap.
    """
    spans = s.spans
    releases = f.past.shape[1]
    for k in range(cell.end - cell.begin):
        row = f.past_row[people[cell.begin + k]]
        spans[k, 2, 0] = f.past[row, 0] + f.past[row, releases - 1]
    for k in range(cell.end - cell.begin):
        row, groups = f.past_row[people[cell.begin + k]], int64(0)
        for j in range(releases):
            spans[k, 0, groups] = f.past[row, j]
            groups += f.past[row, j] >= 0
        spans[k, 2, releases] = groups
    for k in range(cell.end - cell.begin):
        for j in range(spans[k, 2, releases]):
            group = np.uint64(spans[k, 0, j])
            spans[k, 0, j], spans[k, 1, j] = f.past_start[group], f.past_start[group + np.uint64(1)]
    for k in range(cell.end - cell.begin):
        for j in range(spans[k, 2, releases]):
            spans[k, 2, j] = f.past_exposure[np.uint64(spans[k, 1, j] - 1)]


@kernel_helper
def walk_past(f: GroupingInput, s: Scratch, touched: int, k: int) -> None:
    """Write the survival that the person with spans ``k`` has left for each touched value, and the
    links to it if links count."""
    for t in range(touched):
        s.survival[s.touched[t]] = 1.0
    for t in range(touched if f.counts_links else 0):
        s.links[s.touched[t]] = 0
    # Entries of other values become garbage: to test whether each past value is touched takes
    # longer than to multiply. The clamp avoids denormals, which are a hundred times as slow.
    for j in range(s.spans[k, 2, f.past.shape[1]]):
        for e in range(np.uint64(s.spans[k, 0, j]), np.uint64(s.spans[k, 1, j])):
            exposure = np.uint32(f.past_exposure[e])
            value = np.uint32(f.exposure_value[exposure])
            s.survival[value] = max(s.survival[value] * f.exposure_survival[exposure], SMALLEST)
        for e in range(s.spans[k, 0, j], s.spans[k, 1, j] if f.counts_links else s.spans[k, 0, j]):
            s.links[f.exposure_value[f.past_exposure[e]]] += 1


@kernel_helper
def find_needs(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    touched: int,
    n: int,
) -> bool:
    """Write the largest target of each value among the people of a cell, by each one's past.
    Returns whether a group of ``n`` meets all of them; if not, some may be larger than written.
    """
    for t in range(touched):
        s.need[s.touched[t]] = 0.0
        s.linked[s.touched[t]] = 0
    is_met = True
    left = cover(f, n)
    i = cell.begin if f.past.shape[1] > 0 and touched > 0 else cell.end
    while is_met and i < cell.end:
        k = (i - cell.begin) % PAST_BATCH
        if k == 0:
            find_past(f, s, people, Cell(i, min(i + PAST_BATCH, cell.end)))
        walk_past(f, s, touched, k)
        for t in range(touched):
            value = s.touched[t]
            if s.survival[value] < 1.0:
                target = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
                s.need[value] = max(s.need[value], target)
                s.linked[value] += 1
                is_met = is_met and s.holders[value] * target <= left * (1.0 + SLACK)
        i += 1
    for t in range(touched):
        value = s.touched[t]
        if s.linked[value] < cell.end - cell.begin:
            s.need[value] = max(s.need[value], f.base[value])
        is_met = is_met and s.holders[value] * s.need[value] <= left * (1.0 + SLACK)
    return is_met


@kernel_helper
def own_target(f: GroupingInput, s: Scratch, touched: int, k: int) -> float:
    """The largest target that the past of the person with spans ``k`` requires for any touched
    value, regardless of its holders; raises the largest target of each value to it."""
    walk_past(f, s, touched, k)
    largest = 0.0
    for t in range(touched):
        value = s.touched[t]
        target = f.base[value]
        if s.survival[value] < 1.0:
            target = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
        largest = max(largest, target)
        s.need[value] = max(s.need[value], target)
    return largest


@kernel_helper
def reset_past(f: GroupingInput, s: Scratch) -> None:
    """Reset ``s`` to no past, as ``meet_values`` expects."""
    for value in range(len(f.base)):
        s.survival[value] = 1.0
        s.links[value] = 0


@kernel_helper
def meet_values(f: GroupingInput, s: Scratch, row: int) -> int:
    """Write the values that a ``row`` of the past has met, with its links to each and the survival
    they left; returns the number of values."""
    met = int64(0)
    for j in range(f.past.shape[1]):
        group = f.past[row, j]
        if group < 0:
            continue
        for e in range(f.past_start[group], f.past_start[group + 1]):
            exposure = f.past_exposure[e]
            value = f.exposure_value[exposure]
            s.touched[met] = value
            met += s.links[value] == 0
            s.links[value] += 1
            s.survival[value] = max(s.survival[value] * f.exposure_survival[exposure], SMALLEST)
    return met


@kernel_helper
def add_largest_targets(
    f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell, need: NDArray[np.float64]
) -> None:
    """Raise ``need`` to the largest target of each value that the past of one of these people
    requires, whether or not anybody here holds it."""
    reset_past(f, s)
    for i in range(cell.begin, cell.end if f.past.shape[1] > 0 else cell.begin):
        for t in range(meet_values(f, s, f.past_row[people[i]])):
            value = s.touched[t]
            target = next_target(f.rules, f.rule[value], s.links[value], s.survival[value])
            need[value] = max(need[value], target)
            s.survival[value] = 1.0
            s.links[value] = 0


@kernel
def largest_targets(
    f: GroupingInput, s: Scratch, people: NDArray[np.uint32], begin: int, end: int
) -> NDArray[np.float64]:
    """The largest target of each value that the past of one of the people from ``begin`` to ``end``
    requires, whether or not anybody here holds it; 0 where nobody has met it."""
    need = np.zeros(len(f.base))
    add_largest_targets(f, s, people, Cell(begin, end), need)
    return need


@kernel
def find_neediest(
    f: GroupingInput, s: Scratch, begin: int, end: int, neediest: NDArray[np.float64]
) -> None:
    """Write to ``neediest``, for the rows of the past from ``begin`` to ``end``, the largest target
    that each requires, over all values.

    Among values with the same rule and number of links, the least survival requires the most: only
    that target is computed.
    """
    rules, most = f.rules.shape[0], f.past.shape[1]
    least = np.ones((rules, most + 1))
    reset_past(f, s)
    for row in range(begin, end):
        for t in range(meet_values(f, s, row)):
            value = s.touched[t]
            rule, links = f.rule[value], s.links[value]
            least[rule, links] = min(least[rule, links], s.survival[value])
            s.survival[value] = 1.0
            s.links[value] = 0
        largest = 0.0
        for rule in range(rules):
            for links in range(1, most + 1):
                if least[rule, links] < 1.0:
                    target = next_target(f.rules, rule, links, least[rule, links])
                    largest = max(largest, target)
                    least[rule, links] = 1.0
        neediest[row] = largest


@kernel_helper
def pasts_allow(
    f: GroupingInput, people: NDArray[np.uint32], cell: Cell, most: int, n: int
) -> bool:
    """Whether the pasts of the people of a cell allow ``most`` holders of any value among n people;
    if not, or if that was not worked out, they may still allow the values actually held."""
    largest = 0.0
    if f.past.shape[1] > 0 and len(f.neediest) == 0:
        largest = np.inf
    for i in range(cell.begin, cell.end if len(f.neediest) > 0 else cell.begin):
        largest = max(largest, f.neediest[f.past_row[people[i]]])
    # Without a holder any past allows: zero times an unlimited target is no number.
    return most == 0 or largest == 0.0 or most * largest <= cover(f, n) * (1.0 + SLACK)


@kernel_helper
def fits_pasts(
    f: GroupingInput,
    s: Scratch,
    people: NDArray[np.uint32],
    cell: Cell,
    touched: int,
    n: int,
) -> bool:
    """Whether every member's past allows every value tallied in ``s`` if the n people of a cell are
    one group."""
    most = int64(0)
    for t in range(touched):
        most = max(most, s.holders[s.touched[t]])
    passes = size_needed(f, s, touched) <= n * (1.0 + SLACK) and pasts_allow(
        f, people, cell, most, n
    )
    return passes or find_needs(f, s, people, cell, touched, n)


@kernel_helper
def box_state(f: GroupingInput, s: Scratch, people: NDArray[np.uint32], cell: Cell) -> int:
    """State of a cell as one group: valid if every member is within bounds for every value, given
    the member's past."""
    n, touched = tally(f, s, people, cell)
    state = PLAIN
    if touched > 0 or f.minimum_size > 1:
        is_valid = n >= f.minimum_size and fits_pasts(f, s, people, cell, touched, n)
        state = VALID if is_valid else FAILED
    clear(s, touched)
    return state


@kernel_helper
def are_both_valid(
    f: GroupingInput, s: Scratch, people: NDArray[np.uint32], middle: int, end: int
) -> bool:
    """Whether both parts of the people up to ``end``, split at ``middle``, could each be one group,
    given every member's past."""
    is_left_valid = box_state(f, s, people, Cell(0, middle)) != FAILED
    return is_left_valid and box_state(f, s, people, Cell(middle, end)) != FAILED
