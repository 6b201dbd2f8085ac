"""Attendance and cohorts as the verifier reads them from the ledger's files."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from ledger.builders import FIRST, SECOND, Person, changes_of, new_series, publish
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import GuaranteeExceeded, LedgerDamaged
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.verification import LedgerOnDisk


def on_disk(series: Series) -> LedgerOnDisk:
    return ledger_on_disk(Layout(series.path), series.releases())


@pytest.mark.parametrize("seed", range(4))
def test_attendance_equals_a_plain_reading(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    series = new_series(tmp_path)
    members = [sorted(rng.sample(range(30), rng.randint(1, 25))) for _ in range(5)]
    for number, people in enumerate(members):
        rows = [Person(f"P{who}", 0, present=who == people[0]) for who in people]
        publish(series, f"r{number}", rows, cohorts=changes_of({}))
    asked = rng.sample(range(40), 30)
    found = on_disk(series).attendance(pl.Series([f"P{who}" for who in asked])).tolist()
    past = [tuple(who in people for people in members) for who in asked]
    assert len(set(zip(found, past, strict=True))) == len(set(found)) == len(set(past))


def test_attendance_before_the_first_release(tmp_path: Path) -> None:
    assert on_disk(new_series(tmp_path)).attendance(pl.Series([3, 4])).tolist() == [0, 0]


def test_a_release_that_kept_no_cohorts_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", SECOND, cohorts=changes_of({}))
    with pytest.raises(GuaranteeExceeded, match="not kept together"):
        on_disk(series).attendance(pl.Series(["ann"]))


def test_people_who_joined_and_retired_at_once(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST, cohorts=changes_of({"cat": 0}))
    publish(series, "b", SECOND, cohorts=changes_of({"aaron": 1, "ann": 1}, ["aaron", "ann"]))
    found = on_disk(series).cohorts(lambda name: name == "HIV")
    assert {
        id: (int(cohort), int(retired))
        for id, cohort, retired in zip(found.ids, found.cohort, found.retired, strict=True)
        if cohort >= 0
    } == {"cat": (0, 0), "aaron": (1, 2), "ann": (1, 2)}
    assert sorted(found.ids.gather(found.holder)) == ["aaron", "ann", "cat"]


@pytest.mark.parametrize("joined", [{}, {"cat": 0}])
def test_people_who_retire_from_no_cohort_are_noticed(
    tmp_path: Path, joined: dict[str, int]
) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST, cohorts=changes_of(joined))
    publish(series, "b", SECOND, cohorts=changes_of({}, ["eve"]))
    with pytest.raises(LedgerDamaged, match="could not - ledger/0002/retired"):
        on_disk(series).cohorts(bool)
