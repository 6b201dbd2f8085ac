"""What a long past costs: it is checked in every release, and read where it matters to somebody."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ledger.builders import FIRST, SECOND, Person, changes_of, new_series, publish
from serigraph.errors import LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series, past
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.layout import Layout

THIRD = (Person("zoe", 0, ("HIV",)), Person("yul", 0))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = new_series(tmp_path)
    for label, people in {"a": FIRST, "b": SECOND, "c": THIRD}.items():
        publish(made, label, people, cohorts=changes_of({}))
    return made


def test_the_chain_is_walked_once_in_a_publication(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[int] = []
    whole = Catalog.releases

    def counted(catalog: Catalog) -> tuple[ReleaseRecord, ...]:
        walks.append(1)
        return whole(catalog)

    monkeypatch.setattr(Catalog, "releases", counted)
    publish(Series.open(series.path), "d", FIRST)
    assert len(walks) == 1


@pytest.mark.parametrize(
    ("people", "expected"),
    [(["ann"], {1, 2, 3}), (["zoe"], {2, 3}), (["yul"], {3}), (["new"], set()), ([], set())],
)
def test_releases_before_the_first_of_these_people_are_not_read(
    series: Series, monkeypatch: pytest.MonkeyPatch, people: list[str], expected: set[int]
) -> None:
    opened: set[int] = set()
    whole = past.read_files

    def noted(layout: Layout, release: ReleaseRecord, part: str) -> list[bytes]:
        opened.add(release.number)
        return whole(layout, release, part)

    monkeypatch.setattr(past, "read_files", noted)
    history = series.history(pl.Series(people, dtype=pl.String), ["HIV", "flu"])
    assert opened == expected
    assert history.releases == 3


@pytest.mark.parametrize(
    ("release", "part"),
    [
        *((1, part) for part in ("people", "members", "groups", "values")),
        *((number, part) for number in (1, 3) for part in ("holders", "cohorts", "retired")),
    ],
)
def test_what_is_not_read_is_compared_all_the_same(series: Series, release: int, part: str) -> None:
    name = f"ledger/{release:04d}/{part}.parquet"
    path = series.path / name
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(LedgerDamaged, match=name):
        series.history(pl.Series(["zoe"]), ["HIV"])
