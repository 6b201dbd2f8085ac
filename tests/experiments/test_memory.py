"""The ledger in memory says what the one on disk says, and the audit is exact."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from serigraph.experiments import Simulation, built_in_source, write_simulation
from serigraph.experiments.exposure_audit import audit_series
from serigraph.experiments.memory import Shown, recalled
from serigraph.ledger import Series
from serigraph.model import Proof
from serigraph.policy import read_policy
from serigraph.publishing import publish, status
from serigraph.tables import prepare, read_table


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Series]:
    folder = tmp_path_factory.mktemp("series")
    simulation = Simulation(rounds=3, return_rate=0.7, change_rate=0.1)
    write_simulation(built_in_source(1_200), simulation, folder / "tables", "parquet")
    files = {
        name: (folder / "tables" / name).read_bytes() for name in ("policy.toml", "protected.txt")
    }
    series = Series.create(folder / "series", files)
    registry = folder / "tables/registry.parquet"
    stay = (folder / "tables/protected.txt").read_text(encoding="utf-8").splitlines()
    for number in range(1, 4):
        table = folder / "tables" / f"round-{number:02}.parquet"
        publish(table, series, registry=registry, assume_transient=stay)
    return folder, series


def shown_of(series: Series, folder: Path) -> list[Shown]:
    """The releases of a series, from its export."""
    if not (folder / "export").exists():
        series.export(folder / "export")
    past = []
    for release in series.releases():
        mine = pl.col("release") == release.number
        members = pl.read_parquet(folder / "export/members.parquet").filter(mine)
        members = members.with_columns(pl.col("person").cast(pl.Int64)).sort("person")
        values = pl.read_parquet(folder / "export/values.parquet").filter(mine)
        groups = pl.read_parquet(folder / "export/groups.parquet").filter(mine).sort("group")
        past.append(
            Shown(
                ids=members["person"].to_numpy(),
                group=members["group"].to_numpy(),
                size=groups["size"].to_numpy(),
                value_group=values["group"].to_numpy(),
                value_name=values["value"],
                value_count=values["count"].to_numpy(),
            )
        )
    return past


def test_histories_are_those_of_the_ledger(published: tuple[Path, Series]) -> None:
    folder, series = published
    policy = read_policy(series.path / "policy.toml")
    table = read_table(folder / "tables/round-03.parquet")
    registry = read_table(folder / "tables/registry.parquet")
    population = prepare(table, policy, registry).population
    names = [value.name for value in population.protected]
    on_disk = series.history(population.ids, names)
    found = recalled(shown_of(series, folder), population.ids.to_numpy(), names)
    found, on_disk = found.compacted(), on_disk.compacted()
    assert np.array_equal(found.group, on_disk.group)
    for part in ("start", "exposure", "value", "count", "size"):
        assert np.array_equal(getattr(found.held, part), getattr(on_disk.held, part)), part


def test_the_audit_of_a_series_is_that_of_every_person(published: tuple[Path, Series]) -> None:
    folder, series = published
    past = shown_of(series, folder)
    people = np.unique(np.concatenate([shown.ids for shown in past]))
    exposures: dict[tuple[int, str], Fraction] = {}
    for shown in past:
        held: dict[int, list[tuple[str, int]]] = {}
        for group, name, count in zip(
            shown.value_group.tolist(), shown.value_name, shown.value_count.tolist(), strict=True
        ):
            held.setdefault(group, []).append((name, count))
        for person, group in zip(shown.ids.tolist(), shown.group.tolist(), strict=True):
            for name, count in held.get(group, ()):
                kept = 1 - Fraction(count, int(shown.size[group]))
                exposures[person, name] = exposures.get((person, name), Fraction(1)) * kept
    for threshold in (Fraction(1, 2), Fraction(1, 3), Fraction(9, 100)):
        found = audit_series(past, people, threshold)
        assert found.largest == max(1 - kept for kept in exposures.values())
        above = {person for (person, _), kept in exposures.items() if 1 - kept > threshold}
        assert found.people_above == len(above)
        assert sum(found.links) == len(exposures)
    assert audit_series(past, people, Fraction(1, 2)).people_above == 0
    assert status(series).pairs == len(exposures)


def test_whoever_is_exactly_at_the_threshold_is_not_above_it() -> None:
    sizes = (4, 11, 45)  # these reach 1/3 exactly; floats would put them above it
    past = [
        Shown(
            ids=np.arange(1),
            group=np.zeros(1, dtype=np.int64),
            size=np.array([size]),
            value_group=np.zeros(1, dtype=np.int64),
            value_name=pl.Series(["s"]),
            value_count=np.ones(1, dtype=np.int64),
        )
        for size in sizes
    ]
    found = audit_series(past, np.arange(1), Fraction(1, 3))
    assert (found.largest, found.people_above) == (Fraction(1, 3), 0)
    assert found.links == (0, 0, 0, 1)
    assert audit_series(past, np.arange(1), Fraction(333, 1000)).people_above == 1


def test_absent_members_are_no_candidates_if_presence_is_known() -> None:
    proof = Proof(
        ids=pl.Series([1, 2, 3]),
        group=np.zeros(3, dtype=np.uint32),
        present=np.array([True, False, True]),
        size=np.array([3]),
        present_size=np.array([2]),
        value_group=np.zeros(1, dtype=np.uint32),
        value_name=pl.Series(["s"]),
        value_count=np.array([1]),
        largest=Fraction(1, 3),
        pairs=3,
        exact_pairs=0,
        holder=np.array([0]),
        held=np.array([0], dtype=np.int32),
        protected_names=("s",),
    )
    unknown, known = (Shown.of_proof(proof, presence_known=each) for each in (False, True))
    assert (unknown.ids.tolist(), unknown.size.tolist()) == ([1, 2, 3], [3])
    assert (known.ids.tolist(), known.size.tolist()) == ([1, 3], [2])
