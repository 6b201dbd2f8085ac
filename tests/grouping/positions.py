"""Where the holder of a value sits among the members of its group, measured from outside.

A position is a place in some order of the members that an adversary could form: first along a
column, nearest to the centre of the box, third fifth of a locality order. The lift of a position is
how often its member holds the value, over how often chance would have it (n_s/n).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population

FIFTHS = 5
ENOUGH = 5000  # bets that chance makes right: the interval of their lift is 0.028 on each side
TAIL = 1.96  # standard errors on each side of a 95 % interval


@dataclass(frozen=True)
class Bets:
    """Bets that the holders are those at one position: how many are right, and how many chance
    would make right."""

    right: int
    by_chance: float
    variance: float  # of the number that is right by chance

    @property
    def lift(self) -> float:
        return self.right / self.by_chance

    @property
    def highest(self) -> float:
        """The upper end of the 95 % interval of the lift. Two holders of one group are never at the
        same place, so that the true interval is rather narrower."""
        return (self.right + TAIL * self.variance**0.5) / self.by_chance


def bets(
    group: NDArray[np.int64],
    holders: NDArray[np.int64],
    orders: Iterable[tuple[str, NDArray[np.int64]]],
) -> dict[str, Bets]:
    """The bets on every position of every order, over the holders at the given places; orders with
    the same name are one.

    An order has the rank of every place. Groups of one are left out, because there is nothing to
    hide in.
    """
    size = np.bincount(group)
    holders = holders[size[group[holders]] > 1]
    n = size[group[holders]]
    found = []
    for name, order in orders:
        rank = ranks_in_groups(group, order)[holders]
        positions = _positions(rank, n).items()
        found.append(
            {
                f"{name}: {position}": Bets(
                    int(seen.sum()), float(chance.sum()), float((chance * (1 - chance)).sum())
                )
                for position, (seen, chance) in positions
            }
        )
    return pooled(found)


def pooled(several: Iterable[Mapping[str, Bets]]) -> dict[str, Bets]:
    """Bets on the same position, along other columns or in releases of other people, as one."""
    every: defaultdict[str, list[Bets]] = defaultdict(list)
    for release in several:
        for position, each in release.items():
            every[position].append(each)
    return {
        position: Bets(
            sum(each.right for each in found),
            sum(each.by_chance for each in found),
            sum(each.variance for each in found),
        )
        for position, found in every.items()
    }


def telling(found: Mapping[str, Bets]) -> dict[str, Bets]:
    """Without the positions at which chance puts too few holders to tell a lift from noise."""
    return {position: each for position, each in found.items() if each.by_chance >= ENOUGH}


def _positions(
    rank: NDArray[np.int64], n: NDArray[np.int64]
) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """For each position, whose rank it is, and how likely chance would make it so."""
    places = {"first": rank == 0, "last": rank == n - 1, "middle": rank == n // 2}
    counted = {name: (seen, 1 / n) for name, seen in places.items()}
    fifth = rank * FIFTHS // n
    for number in range(FIFTHS):
        # Groups are not multiples of five: some fifths have one rank more than others.
        ranks = -(-(number + 1) * n // FIFTHS) - -(-number * n // FIFTHS)
        counted[f"fifth {number + 1}"] = (fifth == number, ranks / n)
    return counted


def ranks_in_groups(group: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Everybody's rank 0..n-1 in its group, by the rank among all."""
    sorted_ = np.argsort(group * len(order) + order)
    size = np.bincount(group)
    begin = np.cumsum(size) - size
    rank = np.empty(len(group), dtype=np.int64)
    rank[sorted_] = np.arange(len(group)) - begin[group[sorted_]]
    return rank


def ranked(by: NDArray[np.float64], tie_breaker: np.random.Generator) -> NDArray[np.int64]:
    """Everybody's rank by a number; ties at random."""
    rank = np.empty(len(by), dtype=np.int64)
    rank[np.lexsort((tie_breaker.random(len(by)), by))] = np.arange(len(by))
    return rank


def places_of(population: Population) -> NDArray[np.float64]:
    """Where everybody is, [column, person]."""
    return np.stack(
        [
            domain.positions()[codes]
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ]
    )


Orders = list[tuple[str, NDArray[np.int64]]]


def orders_of(at: NDArray[np.float64], tie_breaker: np.random.Generator) -> Orders:
    """The orders that quasi-identifiers allow: each column, and two locality orders."""
    numbers = [*(("a column", column) for column in at)]
    numbers += [("k-d order", k_d_order(at)), ("curve order", curve_order(at))]
    return [(name, ranked(by, tie_breaker)) for name, by in numbers]


def distances(
    at: NDArray[np.float64], group: NDArray[np.int64], tie_breaker: np.random.Generator
) -> Orders:
    """How far everybody is from two centres of its group."""
    size = np.bincount(group)
    low = np.full((len(at), len(size)), np.inf)
    high = np.full((len(at), len(size)), -np.inf)
    mean = np.empty((len(at), len(size)))
    for d, column in enumerate(at):
        np.minimum.at(low[d], group, column)
        np.maximum.at(high[d], group, column)
        mean[d] = np.bincount(group, column, minlength=len(size)) / np.maximum(size, 1)
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
    numbers = [
        ("distance from box centre", ((at - middle[:, group]) ** 2).sum(axis=0)),
        ("distance from mean", ((at - mean[:, group]) ** 2).sum(axis=0)),
    ]
    return [(name, ranked(by, tie_breaker)) for name, by in numbers]


def curve_order(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places along a Morton curve: the bits of all columns' ranks, interleaved."""
    bits = min(16, 52 // len(at))
    place = np.zeros(at.shape[1], dtype=np.int64)
    for d, column in enumerate(at):
        rank = np.searchsorted(np.sort(column), column)
        quantised = rank * (1 << bits) // at.shape[1]
        for bit in range(bits):
            place |= ((quantised >> bit) & 1) << (bit * len(at) + d)
    return place.astype(np.float64)


def k_d_order(at: NDArray[np.float64], leaf: int = 4) -> NDArray[np.float64]:
    """Places in the order of a tree of median cuts, columns in turn."""
    order = np.arange(at.shape[1])
    stack = [(0, at.shape[1], 0)]
    while stack:
        a, b, depth = stack.pop()
        if b - a <= leaf:
            continue
        part = order[a:b]
        order[a:b] = part[np.argsort(at[depth % len(at), part], kind="stable")]
        middle = (a + b) // 2
        stack += [(a, middle, depth + 1), (middle, b, depth + 1)]
    place = np.empty(at.shape[1])
    place[order] = np.arange(at.shape[1])
    return place
