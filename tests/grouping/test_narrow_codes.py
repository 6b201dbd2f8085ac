"""Cells are cut with codes of half the width, as long as a domain is no larger than these tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from grouping.releases import generated, plan
from serigraph.engines import make_release
from serigraph.engines.local import demand_of
from serigraph.grouping.problem import grouping_input, narrowed
from serigraph.model import Domain, Past, Population
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases


def in_a_domain_of(size: int, people: int) -> Population:
    """People whose first code is the last of so many, for every other of them."""
    population = generated("uniform", "rare", people, np.random.default_rng(1))
    last = Domain("column 0", "numeric", pl.Series(np.arange(size)))
    codes = population.codes.copy()
    codes[0, ::2] = size - 1
    return replace(population, domains=(last, *population.domains[1:]), codes=codes)


@pytest.mark.parametrize(("size", "kind"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_codes_are_as_narrow_as_the_largest_domain_allows(
    size: int, kind: type[np.integer]
) -> None:
    population = in_a_domain_of(size, 50)
    f = narrowed(
        grouping_input(
            population,
            Past.none(50),
            demand_of(population.protected, plan("bucketised", "top-down")),
            np.ones(50, dtype=np.uint8),
            np.zeros(50, dtype=np.uint64),
        )
    )
    assert f.codes.dtype == kind
    assert np.array_equal(f.codes, population.codes)


@pytest.mark.parametrize("size", [2**16, 2**16 + 1])
@pytest.mark.parametrize("people", [300, 20_000])  # in one district, and in several
def test_nobody_is_mistaken_for_somebody_with_another_code(size: int, people: int) -> None:
    """The verifier, which knows all of the code, would find the region of another."""
    population = in_a_domain_of(size, people)
    made = make_release(
        population,
        Past.none(people),
        RememberedReleases(),
        plan("generalised", "top-down"),
        SeededRandomness(1),
    )
    assert made.widths["column 0"] < 0.5
