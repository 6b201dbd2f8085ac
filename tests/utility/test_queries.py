"""The query workload: drawn as described, answered as a plain reading of the formula would."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from serigraph.errors import ImpossibleState, InputRefused
from serigraph.model import Domain, Taxonomy
from serigraph.utility import Workload, answer, draw_workload, estimates, query_errors
from serigraph.utility.queries import Groups
from utility.populations import (
    estimate,
    population_of,
    random_groups,
    random_population,
    records,
)


def ranges(workload: Workload, query: int) -> tuple[dict[int, tuple[int, int]], set[str]]:
    asked = workload.queries
    columns = {
        int(column): (int(low), int(high))
        for column, low, high in zip(
            asked.column[query], asked.low[query], asked.high[query], strict=True
        )
    }
    names = workload.names[int(asked.first[query]) : int(asked.last[query]) + 1]
    return columns, set(names)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["any", "protected"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_counts_and_estimates_are_those_of_plain_python(seed: int, kind: str, columns: int) -> None:
    population, group = random_population(seed), random_groups(random_population(seed), seed)
    workload = draw_workload(
        population, queries=30, seed=seed, workload=kind, columns=columns, selectivity=0.2
    )
    assert len(workload) == 30
    for form in ("generalised", "bucketised"):
        found = estimates(workload, population, group, form)
        for query in range(len(workload)):
            asked, wanted = ranges(workload, query)
            assert len(asked) == columns
            actual = sum(
                value in wanted
                and all(a <= population.codes[c, person] <= b for c, (a, b) in asked.items())
                for person, value in records(population)
            )
            assert workload.actual[query] == actual > 0
            expected = estimate(population, group, asked, wanted, form)
            assert found[query] == pytest.approx(expected)


def test_ranges_have_the_width_of_the_selectivity() -> None:
    population = random_population(1, people=200, values=10)
    workload = draw_workload(population, queries=200, columns=2, selectivity=0.125)
    sizes = np.array([domain.size for domain in population.domains])
    widths = workload.queries.high - workload.queries.low + 1
    assert (widths == np.ceil(sizes[workload.queries.column] * 0.5)).all()
    assert (workload.queries.last - workload.queries.first + 1 == 5).all()
    assert (workload.queries.low >= 0).all()
    assert (workload.queries.high < sizes[workload.queries.column]).all()


def test_the_same_seed_draws_the_same_queries_whatever_was_published() -> None:
    population = random_population(2)
    first, again, other = (draw_workload(population, queries=50, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first.queries.low, again.queries.low)
    assert not np.array_equal(first.queries.low, other.queries.low)


def test_protected_queries_ask_about_protected_values_only() -> None:
    population = random_population(3)
    names = draw_workload(population, queries=5, workload="protected").names.to_list()
    assert names == [value.name for value in population.protected]


def test_a_table_published_as_it_is_has_no_error() -> None:
    population = random_population(4)
    group = np.arange(population.size)
    for form in ("generalised", "bucketised"):
        found = query_errors(population, group, queries=100, form=form)
        assert (found.mean, found.percentile_95, found.queries) == (0.0, 0.0, 100)


def test_absent_members_widen_regions_and_are_no_records() -> None:
    population = random_population(5, people=60)
    together = np.zeros(population.size, dtype=np.int64)
    without = np.where(population.present, 0, -1)
    workload = draw_workload(population, queries=100)
    both = [estimates(workload, population, each, "bucketised") for each in (together, without)]
    records_in_range = [
        sum(value in ranges(workload, query)[1] for _, value in records(population))
        for query in range(100)
    ]
    for found in both:
        assert (found <= np.array(records_in_range) + 1e-9).all()
    assert not np.allclose(*both)


def test_suppressed_values_are_missed_and_queries_stay_the_same() -> None:
    raw = random_population(6, people=80)
    holder = np.flatnonzero(np.diff(raw.held_start))
    value = raw.held[raw.held_start[holder]]
    published = raw.without(holder, value)
    group = np.arange(raw.size)
    found = query_errors(published, group, queries=200, raw=raw)
    assert found.mean > 0
    assert found.queries == 200
    assert query_errors(raw, group, queries=200).mean == 0


def test_queries_that_count_nothing_are_drawn_again_and_told() -> None:
    population = random_population(7, people=6)
    found = query_errors(population, np.zeros(6, dtype=np.int64), queries=20, selectivity=0.01)
    assert found.queries == 20
    assert 0 < found.redrawn_share < 1


def test_where_nothing_is_protected_there_is_no_error_to_tell() -> None:
    population = random_population(8)
    bare = population.without(
        np.repeat(np.arange(population.size), np.diff(population.held_start)), population.held
    )
    found = query_errors(bare, np.arange(bare.size), workload="protected", queries=10)
    assert found.queries == 0
    assert math.isnan(found.mean)


@pytest.mark.parametrize(
    "wrong", [{"columns": 0}, {"columns": 4}, {"selectivity": 0.0}, {"queries": 0}]
)
def test_impossible_queries_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputRefused, match="cannot be drawn"):
        draw_workload(random_population(9), **wrong)  # type: ignore[arg-type]


def test_everybody_with_a_record_needs_a_group() -> None:
    population = random_population(10)
    workload = draw_workload(population, queries=5)
    with pytest.raises(ImpossibleState):
        answer(workload, population, np.full(population.size, -1, dtype=np.int64))


def test_a_region_on_a_taxonomy_is_made_of_siblings() -> None:
    rows = [["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"], ["b2", "b", "*"]]
    taxonomy = Taxonomy.from_rows(rows)
    town = Domain("town", "categorical", pl.Series(taxonomy.leaves), taxonomy)
    draw = np.random.default_rng(1)
    population = population_of((town,), draw, np.ones(3, dtype=np.bool_), [["v0"]] * 3, ["v0"])
    population.codes[0] = [0, 0, 2]
    groups = Groups.of(population, np.array([0, 0, 0]))
    assert (groups.low.tolist(), groups.high.tolist()) == ([[0]], [[3]])  # a and b, whole
    apart = Groups.of(population, np.array([0, 0, 1]))
    assert (apart.low.tolist(), apart.high.tolist()) == ([[0, 2]], [[0, 2]])


def test_errors_are_summed_up() -> None:
    population, group = random_population(11), random_groups(random_population(11), 3)
    found = query_errors(population, group, queries=101)
    assert found.mean == pytest.approx(float(found.errors.mean()))
    assert found.median == pytest.approx(float(pl.Series(found.errors).median()))
    assert found.percentile_95 >= found.median
