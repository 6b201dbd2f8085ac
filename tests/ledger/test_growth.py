"""What a long past costs: it is checked in every release, and read where it matters to somebody."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ledger.builders import FIRST, SECOND, Person, changes_of, new_series, publish
from serigraph.errors import LedgerDamaged
from serigraph.ledger import ReleaseRecord, Series, cohorts, past
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.layout import Layout
from serigraph.ledger.reader import RELEASES_COMPARED
from serigraph.model import link_gaps
from serigraph.privacy.link_chances import LEARNED_FROM

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


def test_whether_values_persist_is_measured_in_the_latest_releases_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, before = new_series(tmp_path), 4
    for number in range(before + RELEASES_COMPARED):
        publish(made, f"r{number}", FIRST)
    opened: set[int] = set()
    whole = cohorts.read_part

    def noted(layout: Layout, release: ReleaseRecord, part: str) -> pl.DataFrame:
        opened.add(release.number)
        return whole(layout, release, part)

    monkeypatch.setattr(cohorts, "read_part", noted)
    kept = made.reader().kept_values(["HIV"]).found["HIV"]
    assert opened == {before + 1 + number for number in range(RELEASES_COMPARED)}
    holders = sum("HIV" in person.values for person in FIRST)
    assert kept.returned == kept.kept == holders * (RELEASES_COMPARED - 1)


def test_links_are_learned_from_the_latest_releases_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People and values of earlier releases alone do not count; a series knows how long it is."""
    made = new_series(tmp_path)
    before = [(Person("old", 0, ("HIV",)), Person("zoe", 0)), FIRST, SECOND]
    recent = [(FIRST, SECOND, THIRD)[number % 3] for number in range(LEARNED_FROM)]
    for number, people in enumerate([*before, *recent]):
        publish(made, f"r{number}", people)
    shorter = new_series(tmp_path / "shorter")
    for number, people in enumerate(recent):
        publish(shorter, f"r{number}", people)
    opened: set[int] = set()
    whole = past.read_files

    def noted(layout: Layout, release: ReleaseRecord, part: str) -> list[bytes]:
        opened.add(release.number)
        return whole(layout, release, part)

    expected = shorter.link_gaps()
    monkeypatch.setattr(past, "read_files", noted)
    gaps = made.link_gaps()
    assert opened == {len(before) + 1 + number for number in range(LEARNED_FROM)}
    assert gaps.releases == len(before) + LEARNED_FROM
    assert (gaps.again, gaps.waiting) == (expected.again, expected.waiting)
    assert (gaps.people, gaps.rate) == (expected.people, expected.rate)
    names = shorter.protected_names()
    assert expected == link_gaps(shorter.reader().history_of_all(names), len(names))
