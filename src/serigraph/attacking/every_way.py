"""The exact chance that each person was published as a holder: the sum over every way to come by
the counts.

People pass one after the other. All that matters of those who have passed is how many holders they
gave to each group that is *open*: one with members who have passed and members who have not. A
table has the weight of each combination of these numbers. So the number of open groups, not that of
people, decides whether a part can be summed up. A walk back gives each combination the weight of
all that may follow. A person was never shown in those ways in which it adds nothing to any group.

In kernels, ``count`` is the number of holders that a group shows, or each of the groups; ``table``
the weights of combinations; ``step`` how far apart two of its cells are of which one has one more
holder in a group, which has one of ``states``; ``share`` the part of a weight that moves or,
in a law, the chance to hold the value at first, which one ``keeps`` or ``gets`` with these chances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serigraph.attacking.links import Law, Linked
from serigraph.runtime.compiled import allocating_helper, int64, kernel, kernel_helper

_MOST_STATES = 1 << 17  # of one table
_MOST_CELLS = 1 << 24  # of the tables that are kept for the walk back
_FAINT = 1e-200  # ways that weigh less than this share of others have lost digits


class _Tables(NamedTuple):
    """The table before each person, and a last one that is left behind all. The *step* of a group
    is how far apart two cells are of which one has one more holder in it; a group that opens gets
    the largest step."""

    begin: NDArray[np.int64]  # where each table is kept
    size: NDArray[np.int64]
    width: NDArray[np.int64]  # its size while the person passes: groups that open are in it
    step: NDArray[np.int64]  # [person, release]
    ends: NDArray[np.int64]  # how many groups have closed before each person, and in all
    closed: NDArray[np.int64]  # the groups in the order in which they close
    step_at_end: NDArray[np.int64]  # of each of these


def sum_every_way(linked: Linked) -> NDArray[np.float64]:
    """The chance that each person of a part was ever published as a holder; not a number if that is
    too much to sum up, or no way has a weight that floats can hold."""
    found = np.full(len(linked.person), np.nan)
    bits = np.log2(linked.count + 1)
    order = _passing(linked.group, linked.start, linked.member, bits, np.log2(_MOST_STATES))
    if len(order):
        own = linked.group[order], linked.recorded[order]
        found[order] = _sum_up(*own, linked.count, linked.law)
    return found


@kernel
def _passing(
    group: NDArray[np.int64],
    start: NDArray[np.int64],
    member: NDArray[np.int64],
    bits: NDArray[np.float64],
    most: float,
) -> NDArray[np.int64]:
    """An order in which people pass so that few groups are open at a time: members of the open
    group that opens least come next. Nobody, if open groups have more than ``most`` bits.

    ``group`` is [person, release]. The members of a group are ``member`` from ``start`` of the
    group to that of the next. ``bits`` says how many states a group has.
    """
    left = np.diff(start)  # members who have not passed
    order = np.empty(len(group), dtype=np.int64)
    has_passed = np.zeros(len(group), dtype=np.bool_)
    is_new = np.ones(len(left), dtype=np.bool_)
    noted = np.full(len(left), -1, dtype=np.int64)
    opened = np.empty(len(left), dtype=np.int64)
    g, passed, last, turn, total = int64(np.argmin(left)), int64(0), int64(0), int64(0), 0.0
    while g >= 0:
        for m in range(start[g], start[g + 1]):
            i = member[m]
            if has_passed[i]:
                continue
            has_passed[i] = True
            order[passed] = i
            passed += 1
            for h in group[i]:
                if h >= 0 and is_new[h]:
                    is_new[h] = False
                    opened[last] = h
                    last += 1
                    total += bits[h]
            if total > most:
                return order[:0]
            for h in group[i]:
                if h >= 0:
                    left[h] -= 1
                    total -= bits[h] if left[h] == 0 else 0.0
        g, least, still = int64(-1), np.inf, int64(0)
        for k in range(last):
            h = opened[k]
            if left[h] == 0:
                continue
            opened[still] = h
            still += 1
            own = member[start[h] : start[h + 1]]
            more = _opening(group, own, has_passed, is_new, bits, noted, turn) - bits[h]
            turn += 1
            if more < least:
                g, least = h, more
        last = still
    return order


@kernel_helper
def _opening(
    group: NDArray[np.int64],
    member: NDArray[np.int64],
    has_passed: NDArray[np.bool_],
    is_new: NDArray[np.bool_],
    bits: NDArray[np.float64],
    noted: NDArray[np.int64],
    turn: int,
) -> float:
    """The ``bits`` of the groups that are opened by each ``member`` who has not passed, of which
    ``has_passed`` tells: those of a row of ``group`` that are ``is_new``. Those counted are
    ``noted`` with the ``turn``."""
    more = 0.0
    for i in member:
        if not has_passed[i]:
            for h in group[i]:
                if h >= 0 and is_new[h] and noted[h] != turn:
                    noted[h] = turn
                    more += bits[h]
    return more


@allocating_helper
def _laid_out(group: NDArray[np.int64], count: NDArray[np.int64]) -> _Tables:
    """The tables if people pass in the order of ``group``."""
    people, releases = group.shape
    left = np.zeros(len(count), dtype=np.int64)
    for g in group.ravel():
        if g >= 0:
            left[g] += 1
    begin = np.zeros(people + 1, dtype=np.int64)
    size = np.ones(people + 1, dtype=np.int64)
    width = np.zeros(people, dtype=np.int64)
    step = np.zeros((people, releases), dtype=np.int64)
    ends = np.zeros(people + 1, dtype=np.int64)
    closed = np.empty(len(count), dtype=np.int64)
    step_at_end = np.empty(len(count), dtype=np.int64)
    now = np.zeros(len(count), dtype=np.int64)  # the step of each open group
    opened = np.empty(len(count), dtype=np.int64)
    last = int64(0)
    for i in range(people):
        width[i] = size[i]
        for j in range(releases):
            g = group[i, j]
            if g >= 0 and now[g] == 0:
                now[g] = width[i]
                width[i] *= count[g] + 1
                opened[last] = g
                last += 1
            step[i, j] = now[g] if g >= 0 else 0
        size[i + 1], ends[i + 1] = width[i], ends[i]
        for g in group[i]:
            if g >= 0:
                left[g] -= 1
            if g < 0 or left[g] > 0:
                continue
            closed[ends[i + 1]], step_at_end[ends[i + 1]] = g, now[g]
            ends[i + 1] += 1
            size[i + 1] //= count[g] + 1
            still = int64(0)
            for k in range(last):
                h = opened[k]
                if h != g:
                    opened[still] = h
                    still += 1
                    if now[h] > now[g]:
                        now[h] //= count[g] + 1
            last = still
        begin[i + 1] = begin[i] + size[i]
    return _Tables(begin, size, width, step, ends, closed, step_at_end)


@kernel
def _sum_up(
    group: NDArray[np.int64],
    recorded: NDArray[np.float64],
    count: NDArray[np.int64],
    law: Law,
) -> NDArray[np.float64]:
    """The chance of ever being shown of people who pass in the order of ``group``, under a ``law``.

    ``group`` and ``recorded`` are [person, release], and ``count`` is the holders of each group.
    """
    people, releases = group.shape
    share, keeps, gets = law
    tables = _laid_out(group, count)
    found = np.full(people, np.nan)
    if tables.begin[people] > _MOST_CELLS:
        return found
    kept = np.zeros(tables.begin[people])
    no, yes = np.zeros(tables.width.max()), np.zeros(tables.width.max())
    now = np.ones(1)
    for i in range(people):
        size, width = tables.size[i], tables.width[i]
        kept[tables.begin[i] : tables.begin[i] + size] = now
        no[:width], yes[:width] = 0.0, 0.0
        no[:size], yes[:size] = (1 - share) * now, share * now
        for j in range(releases):
            g, r = group[i, j], recorded[i, j]
            _add(yes[:width], tables.step[i, j], count[g] + 1 if g >= 0 else 1, r)
            if j + 1 < releases:
                _mix(no[:width], yes[:width], 1 - gets, 1 - keeps, gets, keeps)
        now = no[:width] + yes[:width]
        for e in range(tables.ends[i], tables.ends[i + 1]):
            now = _closed(now, tables.step_at_end[e], count[tables.closed[e]])
        if now.max() <= 0:
            return found  # there is no way to come by the counts
        now /= now.max()
    then = np.ones(1)
    for i in range(people - 1, -1, -1):
        size, width = tables.size[i], tables.width[i]
        for e in range(tables.ends[i + 1] - 1, tables.ends[i] - 1, -1):
            then = _reopened(then, tables.step_at_end[e], count[tables.closed[e]])
        then /= then.max()
        before = kept[tables.begin[i] : tables.begin[i] + size]
        never = (before * then[:size]).sum() * _unseen(recorded[i], share, keeps, gets)
        no[:width], yes[:width] = then, then
        for j in range(releases - 1, -1, -1):
            if j + 1 < releases:
                _mix(no[:width], yes[:width], 1 - gets, gets, 1 - keeps, keeps)
            g, r = group[i, j], recorded[i, j]
            _add_behind(yes[:width], tables.step[i, j], count[g] + 1 if g >= 0 else 1, r)
        then = (1 - share) * no[:size] + share * yes[:size]
        ways = (before * then).sum()
        if ways > _FAINT:
            found[i] = max(1 - never / ways, 0.0)
    return found


@kernel_helper
def _mix(
    no: NDArray[np.float64], yes: NDArray[np.float64], a: float, b: float, c: float, d: float
) -> None:
    """Set ``no`` to ``a`` of it and ``b`` of ``yes``, and ``yes`` to ``c`` and ``d`` of them."""
    for k in range(len(no)):
        no[k], yes[k] = a * no[k] + b * yes[k], c * no[k] + d * yes[k]


@kernel_helper
def _add(table: NDArray[np.float64], step: int, states: int, share: float) -> None:
    """Move a ``share`` of each cell of the ``table`` to the one with one more holder in a group
    that has so many ``states``; none: the group shows nobody, and these ways are impossible."""
    block = step * states
    for begin in range(0, len(table), block if block else len(table)):
        for k in range(begin + block - 1, begin + step - 1, -1):
            table[k] = (1 - share) * table[k] + share * table[k - step]
        for k in range(begin, begin + step if block else len(table)):
            table[k] *= 1 - share


@kernel_helper
def _add_behind(table: NDArray[np.float64], step: int, states: int, share: float) -> None:
    """The same in a walk back: what follows a cell has one holder less to come by."""
    block = step * states
    for begin in range(0, len(table), block if block else len(table)):
        for k in range(begin, begin + block - step):
            table[k] = (1 - share) * table[k] + share * table[k + step]
        for k in range(begin + block - step, begin + (block if block else len(table))):
            table[k] *= 1 - share


@allocating_helper
def _closed(table: NDArray[np.float64], step: int, count: int) -> NDArray[np.float64]:
    """The cells of a ``table`` in which a group has as many holders as it shows."""
    found = np.empty(len(table) // (count + 1))
    for k in range(len(found)):
        found[k] = table[k // step * step * (count + 1) + count * step + k % step]
    return found


@allocating_helper
def _reopened(table: NDArray[np.float64], step: int, count: int) -> NDArray[np.float64]:
    """The ``table`` before a group was closed: other cells have no way to go on."""
    found = np.zeros(len(table) * (count + 1))
    for k in range(len(table)):
        found[k // step * step * (count + 1) + count * step + k % step] = table[k]
    return found


@kernel_helper
def _unseen(recorded: NDArray[np.float64], share: float, keeps: float, gets: float) -> float:
    """How probable it is of a person with these chances to be ``recorded`` that it is never shown,
    whatever groups say."""
    no, yes = 1 - share, share * (1 - recorded[0])
    for j in range(1, len(recorded)):
        no, yes = (1 - gets) * no + (1 - keeps) * yes, gets * no + keeps * yes
        yes *= 1 - recorded[j]
    found: float = no + yes
    return found
