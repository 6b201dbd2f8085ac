"""Where the holder of a value sits among the members of its group, measured from outside.

A position is a place in some order of the members that an adversary could form: first along a
column, nearest to the centre of the box, third fifth of a locality order. The lift of a position is
how often its member holds the value, over how often chance would have it (n_s/n).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from serigraph.model import Population

FIFTHS = 5
ENOUGH = 800  # holders by chance: the standard error of a lift is 3.5 % there


def lifts(
    group: NDArray[np.int64],
    holders: NDArray[np.int64],
    orders: Mapping[str, NDArray[np.float64]],
    tie_breaker: np.random.Generator,
) -> dict[str, float]:
    """The lift of every position of every order, over the holders at the given places.

    ``orders`` gives every place a number to be sorted by; equal numbers are ordered at random.
    Groups of one are left out, because there is nothing to hide in, and so are positions at which
    chance would put too few holders to tell a lift from noise.
    """
    size = np.bincount(group)
    holders = holders[size[group[holders]] > 1]
    n = size[group[holders]]
    found: dict[str, float] = {}
    for name, by in orders.items():
        rank = ranks_in_groups(group, by, tie_breaker)[holders]
        for position, (seen, chance) in _positions(rank, n).items():
            if chance.sum() >= ENOUGH:
                found[f"{name}: {position}"] = float(seen.sum() / chance.sum())
    return found


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


def ranks_in_groups(
    group: NDArray[np.int64], by: NDArray[np.float64], tie_breaker: np.random.Generator
) -> NDArray[np.int64]:
    """Everybody's rank 0..n-1 in its group, by a number; ties at random."""
    order = np.lexsort((tie_breaker.random(len(group)), by, group))
    size = np.bincount(group)
    begin = np.cumsum(size) - size
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - begin[group[order]]
    return rank


def spatial_orders(
    population: Population, group: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """The orders that quasi-identifiers allow: each column, two locality orders, two centres."""
    at = np.stack(
        [
            domain.positions()[codes]
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ]
    )
    orders = {domain.name: at[d] for d, domain in enumerate(population.domains)}
    orders["k-d order"] = k_d_order(at)
    orders["curve order"] = curve_order(at)
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
    orders["distance from box centre"] = ((at - middle[:, group]) ** 2).sum(axis=0)
    orders["distance from mean"] = ((at - mean[:, group]) ** 2).sum(axis=0)
    return orders


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
