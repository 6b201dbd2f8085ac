"""Large cells: cut by a sample of their people, then checked with all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.grouping.counts import clear, has_counts, size_for, tally, value_range
from serigraph.grouping.cuts import FORESIGHT, TRIES, CutRules, list_cuts, next_cut
from serigraph.grouping.layout import COMPETING, SLACK, Cell, GroupingInput, Scratch
from serigraph.grouping.past import are_both_valid
from serigraph.grouping.sorted_cell import SortedCell, rank_of, sorted_cell
from serigraph.runtime.compiled import allocating_helper, int64, kernel_helper

SAMPLE = 40
MIDDLING = 8192  # largest cell whose cuts are all weighed against each other
TRIES_MIDDLING = 200  # cuts tried in such a cell


class Trial(NamedTuple):
    """Cuts of a large cell that are tried together, and room to split its people."""

    cuts: NDArray[np.int64]  # [cut, (column, last code on the left, row in the list, or -1)]
    score: NDArray[np.float64]
    need: NDArray[np.float64]  # of both sides' values together; infinity if one is not valid
    people: NDArray[np.uint32]
    weight: int  # people of the cell that count
    touched: int  # number of values tallied in ``s``


@allocating_helper
def cut_large(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    box: NDArray[np.int64],
    cell: Cell,
    rules: CutRules,
    found_cut: NDArray[np.int64],
) -> int:
    """Cut a cell that is too large to view in full, by a sample of its people.

    A sample shows how people are spread, not how far the outliers lie, which makes for better cuts;
    ``box`` is the row of the cell. Splits ``order`` and returns how many people are on the left, 0
    if no cut was found; writes column and last code on the left to ``found_cut``.
    """
    n = cell.end - cell.begin
    weighs = not f.interleave and not rules.is_blind
    touched = int64(0)
    if weighs:
        _, touched = tally(f, s, order, cell)
    trial = Trial(
        np.empty((COMPETING, 3), dtype=np.int64),
        np.empty(COMPETING),
        np.zeros(COMPETING),
        np.empty(n, dtype=np.uint32),
        rules.weight if weighs else n,
        touched,
    )
    left = int64(0)
    # If a small sample shows no cut, the only cuts may be around a branch with few people.
    for m in (int64(SAMPLE), int64(min(n, MIDDLING))):
        if left == 0:
            view = sorted_cell(f, s, order, cell, m, int64(0))
            any_cut = CutRules(m, 1, 1, False, True, False)
            found = list_cuts(f, view, box, Cell(0, m), any_cut)
            best, left = try_cuts(f, s, order, cell, view, found, rules, trial)
            if best >= 0:
                found_cut[0], found_cut[1] = view.cuts[best, 0], view.cuts[best, 2]
                if not f.interleave:
                    left = part(f, order, cell, found_cut[0], found_cut[1], trial.people)
                for i in range(n):
                    order[cell.begin + i] = trial.people[i]
    clear(s, touched)
    return left


@allocating_helper
def try_cuts(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cell: Cell,
    view: SortedCell,
    found: int,
    rules: CutRules,
    trial: Trial,
) -> tuple[int, int]:
    """Try the cuts ``found``, best first; returns the row of the one to make, or -1, and, where
    groups interleave, how many people are on its left, split in the ``trial``."""
    n = cell.end - cell.begin
    competes = rules.is_crowded and not f.interleave and n <= MIDDLING
    together = 1 if f.interleave else COMPETING
    tries = TRIES_MIDDLING if n <= MIDDLING or f.blind else TRIES
    best, lowest, left = int64(-1), np.inf, int64(0)
    number, valid, enough = 0, 0, COMPETING if competes else 1
    while number < tries and valid < enough:
        k = number % together
        if k == 0:
            for c in range(together):
                take_cut(view, found, trial, c)
            if not f.interleave:
                weigh_cuts(f, s, order, cell, rules, trial)
        number += 1
        if trial.cuts[k, 2] < 0:
            number = tries
        else:
            is_valid, left = survives(f, s, order, cell, k, rules, trial)
            if is_valid:
                valid += 1
                score = trial.score[k]
                if competes:
                    score *= 1.0 + FORESIGHT * trial.need[k] / n
                if score < lowest:
                    lowest = score
                    best = trial.cuts[k, 2]
    return best, left if best >= 0 else int64(0)


@allocating_helper
def survives(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cell: Cell,
    k: int,
    rules: CutRules,
    trial: Trial,
) -> tuple[bool, int]:
    """Whether both sides survive the cut ``k`` of a ``trial``, and how many people are on its left
    if they had to be split for the check."""
    n = cell.end - cell.begin
    d, code = trial.cuts[k, 0], trial.cuts[k, 1]
    left = int64(0)
    if f.interleave:
        left = part(f, order, cell, d, code, trial.people)
        if n <= MIDDLING:
            left = round_down(f, trial.people, left, d, rules.size)
        is_valid = left >= rules.least and n - left >= rules.least
        if is_valid and not rules.is_blind:
            is_valid = has_counts(f, s, trial.people, Cell(0, left))
            is_valid = is_valid and has_counts(f, s, trial.people, Cell(left, n))
        if is_valid and rules.asks_past:
            is_valid = are_both_valid(f, s, trial.people, left, n)
    else:
        is_valid = trial.need[k] < np.inf
        if is_valid and rules.asks_past:
            left = part(f, order, cell, d, code, trial.people)
            clear(s, trial.touched)
            is_valid = are_both_valid(f, s, trial.people, left, n)
            tally(f, s, order, cell)
    return is_valid, left


@kernel_helper
def take_cut(view: SortedCell, found: int, trial: Trial, c: int) -> None:
    """Move the best of the cuts ``found``, if any is left, from the list to cut ``c`` of a
    ``trial``."""
    cut = next_cut(view, found)
    trial.cuts[c, 0] = trial.cuts[c, 1] = 0
    trial.cuts[c, 2] = cut
    if cut >= 0:
        trial.cuts[c, 0], trial.cuts[c, 1] = view.cuts[cut, 0], view.cuts[cut, 2]
        trial.score[c] = view.score[cut]
        view.score[cut] = np.inf


@kernel_helper
def weigh_cuts(
    f: GroupingInput,
    s: Scratch,
    order: NDArray[np.uint32],
    cell: Cell,
    rules: CutRules,
    trial: Trial,
) -> None:
    """Write for each cut of a ``trial`` what the values of both sides need together; infinity if a
    side has too few people, or if its counts of values rule it out as one group."""
    people = len(s.right) - 1
    are_holders = f.holds_one and not rules.is_blind  # holders are counted
    for c in range(COMPETING):
        s.right[people, c] = 0
        for t in range(trial.touched):
            s.right[s.touched[t], c] = 0
    for i in range(cell.begin, cell.end):
        person = order[i]
        counts = 1 if rules.is_blind else int64(f.weight[person])
        for c in range(0 if are_holders else COMPETING):
            s.right[people, c] += counts * (f.codes[trial.cuts[c, 0], person] > trial.cuts[c, 1])
        begin, end = value_range(f, person)
        for h in range(begin, begin if rules.is_blind else end):
            value = f.held[h]
            for c in range(COMPETING):
                s.right[value, c] += f.codes[trial.cuts[c, 0], person] > trial.cuts[c, 1]
    for c in range(COMPETING):
        right = int64(s.right[people, c])
        need_left, need_right = 0.0, 0.0
        for t in range(trial.touched):
            value = s.touched[t]
            holders = s.right[value, c]
            right += holders if are_holders else 0
            need_left = max(need_left, (s.holders[value] - holders) * f.base[value])
            need_right = max(need_right, holders * f.base[value])
        need_left, need_right = size_for(f, need_left), size_for(f, need_right)
        left = trial.weight - right
        is_valid = left >= rules.least and right >= rules.least
        is_valid = is_valid and need_left <= left * (1.0 + SLACK)
        is_valid = is_valid and need_right <= right * (1.0 + SLACK)
        trial.need[c] = need_left + need_right if is_valid else np.inf


@kernel_helper
def part(
    f: GroupingInput,
    order: NDArray[np.uint32],
    cell: Cell,
    d: int,
    code: int,
    target: NDArray[np.uint32],
) -> int:
    """Write the cell to ``target``, the side up to the ``code`` first; returns the size of that
    side."""
    left, right = int64(0), cell.end - cell.begin - 1
    for i in range(cell.begin, cell.end):
        target[left] = target[right] = order[i]  # branch-free: written to both sides, kept on one
        is_left = f.codes[d, order[i]] <= code
        left += is_left
        right -= not is_left
    return left


@allocating_helper
def round_down(f: GroupingInput, people: NDArray[np.uint32], left: int, d: int, size: int) -> int:
    """Move the last people of the ``left`` side to the right until it is a whole number of groups.

    Interleaved groups may separate people with equal codes.
    """
    over = left % size
    whole = left - over
    last = np.full(over + 1, -1, dtype=np.int64)  # largest ranks, descending; last the rest
    for i in range(left if over > 0 else 0):
        rank = rank_of(f, people[i], d)
        k = over
        while k > 0 and last[k - 1] < rank:
            last[k] = last[k - 1]
            k -= 1
        last[k] = rank
    i = int64(0)
    while left > whole:
        if rank_of(f, people[i], d) >= last[over - 1]:
            left -= 1
            people[i], people[left] = people[left], people[i]
        else:
            i += 1
    return left
