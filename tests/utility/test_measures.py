"""Measures of groups, from their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from serigraph.utility import (
    discernibility,
    group_sizes,
    kl_divergence,
    normalised_certainty_penalty,
    normalised_group_size,
    suppressed_share,
)
from utility.populations import (
    box,
    divergence,
    random_groups,
    random_population,
    records,
    shown_members,
)

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_count_members_of_groups_in_which_somebody_is_present(seed: int) -> None:
    population, group = random_population(seed), random_groups(random_population(seed), seed)
    members = shown_members(population, group)
    holders = set(np.flatnonzero(np.diff(population.held_start)).tolist())
    linked = [len(people) for people in members.values() if holders & set(people)]
    found = group_sizes(population, group)
    assert found.groups == len(members)
    assert found.mean == pytest.approx(np.mean([len(people) for people in members.values()]))
    assert found.largest == max(map(len, members.values()))
    assert found.groups_with_protected_value == len(linked)
    assert found.mean_with_protected_value == pytest.approx(np.mean(linked))
    assert found.largest_with_protected_value == max(linked)


@pytest.mark.parametrize("seed", SEEDS)
def test_widths_are_averaged_over_records(seed: int) -> None:
    population, group = random_population(seed), random_groups(random_population(seed), seed)
    widths = np.zeros(3)
    for people in shown_members(population, group).values():
        here = int(population.present[people].sum())
        for column, (low, high) in enumerate(box(population, people)):
            at = population.domains[column].positions()
            widths[column] += here * (at[high] - at[low])
    found = normalised_certainty_penalty(population, group)
    assert found == pytest.approx(widths / population.present.sum())


def test_discernibility_charges_whoever_is_left_out_with_the_whole_table() -> None:
    population = random_population(1, people=30)
    present = int(population.present.sum())
    together = np.zeros(population.size, dtype=np.int64)
    assert discernibility(population, together) == present**2
    assert discernibility(population, np.arange(population.size)) == present
    assert discernibility(population, together, left_out=2) == present**2 + 2 * (present + 2)


def test_the_normalised_group_size_is_one_at_best() -> None:
    population = random_population(2)
    present = np.flatnonzero(population.present)[:20]
    some = population.subset(np.isin(np.arange(population.size), present))
    assert normalised_group_size(some, np.arange(20) // 2, smallest=2) == 1
    assert normalised_group_size(some, np.zeros(20, dtype=np.int64), smallest=2) == 10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_divergence_is_that_of_the_definition(seed: int, form: str) -> None:
    population, group = random_population(seed), random_groups(random_population(seed), seed)
    found = kl_divergence(population, group, form=form)  # type: ignore[arg-type]
    assert found.nats == pytest.approx(divergence(population, group, form))
    assert found.impossible_share == 0
    same = np.unique(population.codes, axis=1, return_inverse=True)[1].reshape(-1)
    as_it_is = kl_divergence(population, same, form="generalised")
    assert as_it_is.nats == pytest.approx(0, abs=1e-12)


def test_suppressed_pairs_are_counted() -> None:
    raw = random_population(3)
    holder = np.flatnonzero(np.diff(raw.held_start))[:4]
    published = raw.without(holder, raw.held[raw.held_start[holder]])
    assert suppressed_share(raw, published) == pytest.approx(4 / len(records(raw)))
    assert suppressed_share(raw, raw) == 0
    lost = kl_divergence(published, np.arange(raw.size), raw=raw).impossible_share
    assert lost == pytest.approx(4 / len(records(raw)))
