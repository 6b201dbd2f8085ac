"""Which member of a group holds a value cannot be read from where the member sits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from grouping.positions import lifts, spatial_orders
from grouping.releases import RELEASES, Spread, Values, generated, history_of, plan, with_values
from serigraph.engines.earlier_releases import remembered
from serigraph.engines.interface import Form, VerifiedRelease
from serigraph.engines.local import make_release
from serigraph.grouping import Method
from serigraph.model import Past, Population, link_gaps, shares_of
from serigraph.privacy import Adaptive
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases

PEOPLE: dict[Values, int] = {"rare": 110_000, "frequent": 40_000}
HELD = 10_000
WORST = 1.25


@pytest.mark.parametrize("values", ["rare", "frequent"])
@pytest.mark.parametrize("spread", ["uniform", "clustered"])
@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_no_position_in_a_group_gives_the_holder_away(
    form: Form, method: Method, spread: Spread, values: Values
) -> None:
    draw = np.random.default_rng(1)
    population = generated(spread, values, PEOPLE[values], draw)
    made = make_release(
        population,
        Past.none(population.size),
        RememberedReleases(),
        plan(form, method),
        SeededRandomness(2),
    )
    _assert_blind(made, _studied(population), draw)


@pytest.mark.parametrize("strategy", ["constant", "adaptive"])
@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_a_past_does_not_give_the_holder_away(form: Form, strategy: str) -> None:
    """Half of the people keep their value, the others are dealt a new one."""
    draw = np.random.default_rng(3)
    first = generated("clustered", "rare", PEOPLE["rare"], draw)
    nothing = Past.none(first.size), RememberedReleases()
    asked = plan(form, "top-down")
    known = make_release(first, *nothing, asked, SeededRandomness(4))
    held = np.full(first.size, -1)
    held[_holders(first)] = first.held
    kept = draw.random(first.size) < 0.5
    again = with_values(first, np.where(kept, held, draw.permutation(held)))
    past = history_of(known)
    if strategy == "adaptive":
        gaps, shares = link_gaps(past, 10), shares_of(again, presence_known=False)
        asked = replace(asked, strategy=Adaptive(RELEASES, gaps, shares))
    earlier = remembered(again.ids, [value.name for value in again.protected], past)
    made = make_release(again, past, earlier, asked, SeededRandomness(5))
    _assert_blind(made, _studied(again), draw)


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


def _assert_blind(
    made: VerifiedRelease, studied: NDArray[np.int64], draw: np.random.Generator
) -> None:
    population = made.population
    holders = _holders(population)[np.isin(population.held, studied)]
    assert HELD <= len(holders) < population.size / 2
    group = made.proof.group.astype(np.int64)
    found = lifts(group, holders, spatial_orders(population, group), draw)
    found |= _lifts_of_rows(made, holders, studied, draw)
    worst = max(found, key=lambda position: found[position])
    assert found[worst] <= WORST, f"{worst}: {found[worst]:.2f}"


def _lifts_of_rows(
    made: VerifiedRelease,
    holders: NDArray[np.int64],
    studied: NDArray[np.int64],
    draw: np.random.Generator,
) -> dict[str, float]:
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
    order = {"published rows": np.arange(table.height, dtype=np.float64)}
    return lifts(group.astype(np.int64), rows, order, draw)
