"""One publication reads the catalog and walks its chain once, and freezes its policy once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import serigraph
from publishing.clinic import COMMON, ZIP_CODES, new_series, policy_text
from serigraph.ledger import Reader, ReleaseRecord, Series
from serigraph.ledger.catalog import Catalog
from serigraph.policy import Policy, read_policy

pytestmark = pytest.mark.usefixtures("values_may_stay")

LEARNED = 'name = "schedule"\nlink_chances = "learned"\nreleases = 4'
CONSTANT = 'name = "constant"\nreleases = 4'


def table_of(people: range, hiv: int, seed: int) -> pl.DataFrame:
    """People of whom some, others in each table, hold a value that is protected."""
    return pl.DataFrame(
        {
            "patient": [f"P{number:04}" for number in people],
            "age": [20 + number * 7 % 60 for number in people],
            "sex": ["FM"[number % 2] for number in people],
            "zip": [ZIP_CODES[number * 11 % len(ZIP_CODES)] for number in people],
            "diagnosis": [
                "hiv" if (number + seed) % len(people) < hiv else COMMON[number % 3]
                for number in people
            ],
        }
    )


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What was read or computed, and how often."""
    found: Counter[str] = Counter()
    read, freeze, learn = Catalog.releases, Policy._frozen_choice, Reader.link_gaps

    def releases(catalog: Catalog) -> tuple[ReleaseRecord, ...]:
        found["catalog"] += 1
        return read(catalog)

    def frozen_choice(policy: Policy) -> dict[str, object]:
        found["frozen policy"] += 1
        return freeze(policy)

    def link_gaps(reader: Reader) -> object:
        found["links so far"] += 1
        return learn(reader)

    monkeypatch.setattr(Catalog, "releases", releases)
    monkeypatch.setattr(Policy, "_frozen_choice", frozen_choice)
    monkeypatch.setattr(Reader, "link_gaps", link_gaps)
    return found


@pytest.mark.parametrize("strategy", [LEARNED, CONSTANT])
def test_once_however_much_is_asked_of_the_ledger(
    tmp_path: Path, counted: Counter[str], strategy: str
) -> None:
    """One strategy learns from the ledger; by the other something is suppressed, and charged."""
    series = new_series(tmp_path / "clinic", policy_text(strategy=strategy))
    registry = table_of(range(3000), 0, 0).drop("diagnosis")
    for seed in range(2):
        serigraph.publish(
            table_of(range(1000), 5, seed), series, registry=registry, label=f"r{seed}"
        )
    counted.clear()
    new = table_of(range(500, 1500), 600, 0)
    release = serigraph.publish(new, series.path, registry=registry, allow_suppression=True)
    assert bool(release.figures["suppressed"]) == (strategy == CONSTANT)
    assert (counted["catalog"], counted["frozen policy"]) == (1, 1)
    assert counted["links so far"] == (strategy == LEARNED)
    assert len(Series.open(series.path).releases()) == 3


def test_once_for_each_look_at_a_series(tmp_path: Path, counted: Counter[str]) -> None:
    series = new_series(tmp_path / "clinic", policy_text(strategy=LEARNED))
    serigraph.publish(table_of(range(1000), 5, 0), series)
    counted.clear()
    serigraph.history(series, "P0001", "hiv")
    assert counted["catalog"] == 1
    serigraph.plan(table_of(range(1000), 5, 1), series, releases=3, lengths=[3], factors=[])
    assert counted["catalog"] == 2


def test_a_copy_of_a_policy_is_frozen_by_itself(tmp_path: Path) -> None:
    policy = read_policy(new_series(tmp_path / "clinic", policy_text()).path / "policy.toml")
    before = policy.frozen()
    assert before is policy.frozen()
    higher = policy.guarantee.model_copy(update={"minimum_group_size": 7})
    after = policy.model_copy(update={"guarantee": higher}).frozen()
    assert after != before
    assert after["person"] == before["person"]
