"""How often the member at each position of a group is the holder, in generated releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from grouping.positions import Bets, Orders, bets, distances, orders_of, places_of
from grouping.releases import RELEASES, Spread, Values, generated, history_of, plan, with_values
from serigraph.engines.earlier_releases import remembered
from serigraph.engines.interface import Form, VerifiedRelease
from serigraph.engines.local import make_release
from serigraph.grouping import Method
from serigraph.model import Past, Population, link_gaps, shares_of
from serigraph.privacy import Adaptive
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases

HELD = 10_000
# The upper end of the lift of any position. Cells full of holders are cut between them, so that
# holders of frequent values are found at edges a little more often: see the page on grouping.
BARS: dict[Values, float] = {"rare": 1.05, "frequent": 1.12}
PEOPLE: dict[Values, int] = {"rare": 110_000, "frequent": 40_000}
WAYS: dict[str, tuple[Form, Method]] = {
    "generalised, top-down": ("generalised", "top-down"),
    "generalised, bottom-up": ("generalised", "bottom-up"),
    "bucketised": ("bucketised", "top-down"),  # bottom-up is the same: see test_holder_blindness
}
AGAIN = ("generalised, top-down", "bucketised")


def bets_on_positions(
    spread: Spread, values: Values, seed: int
) -> Iterator[tuple[str, dict[str, Bets]]]:
    """The bets on one table, released in each way. Rare values are then released again: half of
    the people keep theirs, and the others are dealt new ones."""
    draw = np.random.default_rng(seed)
    population = generated(spread, values, PEOPLE[values], draw)
    at = places_of(population)
    orders = orders_of(at, draw)
    nothing = Past.none(population.size), RememberedReleases()
    for name, (form, method) in WAYS.items():
        how = plan(form, method)
        made = make_release(population, *nothing, how, SeededRandomness(seed))
        yield name, _bets(made, at, orders, draw)
        if values == "rare" and name in AGAIN:
            again = _with_half_kept(population, draw)
            past = history_of(made)
            earlier = remembered(again.ids, [value.name for value in again.protected], past)
            gaps, shares = link_gaps(past, 10), shares_of(again, presence_known=False)
            learns = replace(how, strategy=Adaptive(RELEASES, gaps, shares))
            for each, asked in (("a past", how), ("a past, adaptive", learns)):
                made = make_release(again, past, earlier, asked, SeededRandomness(seed))
                yield f"{name}, with {each}", _bets(made, at, orders, draw)


def _with_half_kept(population: Population, draw: np.random.Generator) -> Population:
    held = np.full(population.size, -1)
    held[_holders(population)] = population.held
    kept = draw.random(population.size) < 0.5
    return with_values(population, np.where(kept, held, draw.permutation(held)))


def _holders(population: Population) -> NDArray[np.int64]:
    return np.repeat(np.arange(population.size), np.diff(population.held_start))


def _studied(population: Population) -> NDArray[np.int64]:
    """The values that are looked at: the commonest, as many as it takes.

    Where everybody holds some value, the holders of all values are everybody, and nothing could be
    seen in them.
    """
    commonest = np.argsort(-np.bincount(population.held), kind="stable")
    enough = np.searchsorted(np.cumsum(np.bincount(population.held)[commonest]), HELD) + 1
    return commonest[:enough]


def _bets(
    made: VerifiedRelease,
    at: NDArray[np.float64],
    orders: Orders,
    draw: np.random.Generator,
) -> dict[str, Bets]:
    population = made.population
    studied = _studied(population)
    holders = _holders(population)[np.isin(population.held, studied)]
    assert HELD <= len(holders) < population.size / 2
    group = made.proof.group.astype(np.int64)
    found = bets(group, holders, [*orders, *distances(at, group, draw)])
    return found | _bets_on_rows(made, holders, studied)


def _bets_on_rows(
    made: VerifiedRelease,
    holders: NDArray[np.int64],
    studied: NDArray[np.int64],
) -> dict[str, Bets]:
    """The same for the order of the published rows."""
    population = made.population
    names = [population.protected[value].name for value in studied.tolist()]
    if "table" in made.tables:
        table = made.tables["table"]
        regions = table.select(pl.exclude("diagnosis"))
        group = regions.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy()
        rows = np.flatnonzero(table["diagnosis"].list.first().is_in(names).to_numpy())
    else:
        table = made.tables["quasi_identifiers"]
        group = table["group"].to_numpy()
        told_apart = population.domains[0]
        holding = told_apart.values.gather(population.codes[0, holders])
        rows = np.flatnonzero(table[told_apart.name].is_in(holding.implode()).to_numpy())
        assert len(rows) == len(holders)
    order = np.arange(table.height)
    return bets(group.astype(np.int64), rows, [("published rows", order)])
