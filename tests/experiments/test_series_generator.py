"""The paper's series: parts, returns and changes, as Section 8 has them."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

from serigraph.errors import InputRefused
from serigraph.experiments import Simulation, built_in_source, simulated_tables
from serigraph.experiments.setting import one_value_each, with_common_values

SOURCE = built_in_source(2_000)
ALL = SOURCE.reactions


def pairs(table: pl.DataFrame) -> set[tuple[int, str]]:
    return set(table.select("person", "value").rows())


def test_without_returns_and_changes_the_tables_are_the_parts() -> None:
    tables = simulated_tables(SOURCE, Simulation(rounds=7, return_rate=0, change_rate=0))
    sizes = [table.height for table in tables]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == ALL.height
    assert set().union(*map(pairs, tables)) == pairs(ALL)


def test_a_fifth_of_the_last_table_comes_back() -> None:
    tables = simulated_tables(SOURCE, Simulation(rounds=5, change_rate=0))
    part = ALL.height // 5
    assert abs(tables[0].height - part) <= 1
    for before, after in pairwise(tables):
        assert len(pairs(before) & pairs(after)) == pytest.approx(0.2 * before.height, abs=2)
        assert after.height == pytest.approx(part + 0.2 * before.height, abs=3)


def test_a_fifth_of_a_table_gets_values_of_others() -> None:
    first, second = simulated_tables(SOURCE, Simulation(rounds=2, return_rate=0))
    assert pairs(first) <= pairs(ALL)  # the first table is its part as it is
    changed = len(pairs(second) - pairs(ALL)) / second.height
    assert 0.15 < changed < 0.2  # some of the values drawn are the person's own
    assert set(second["value"]) <= set(ALL["value"])


def test_everybody_keeps_the_quasi_identifiers() -> None:
    table = simulated_tables(SOURCE, Simulation(rounds=3))[2]
    known = table.select(SOURCE.people.columns).unique()
    assert known.join(SOURCE.people, on=SOURCE.people.columns, how="semi").height == known.height


def test_the_same_seed_makes_the_same_series() -> None:
    one, again, other = (simulated_tables(SOURCE, Simulation(4, seed=seed)) for seed in (1, 1, 2))
    assert all(a.equals(b) for a, b in zip(one, again, strict=True))
    assert not one[0].equals(other[0])


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"return_rate": 1.5}, {"change_rate": -0.1}, {"rounds": 10**6}]
)
def test_impossible_series_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputRefused):
        simulated_tables(SOURCE, Simulation(**wrong))  # type: ignore[arg-type]


def test_one_value_each_leaves_one_row_a_person() -> None:
    table = simulated_tables(SOURCE, Simulation(rounds=2))[1]
    single = one_value_each(table, 1)
    assert single["person"].is_unique().all()
    assert set(single["person"]) == set(table["person"])
    assert pairs(single) <= pairs(table)


def test_common_values_have_the_share_that_is_asked_for() -> None:
    common = with_common_values(SOURCE, 0.05, seed=1)
    shares = common.reactions["value"].value_counts(sort=True)["count"] / common.reactions.height
    assert shares[0] == pytest.approx(0.05, rel=0.2)
    assert shares[-1] == pytest.approx(0.025, rel=0.4)
