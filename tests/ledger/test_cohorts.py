"""Cohorts and published holders, against a reading of the releases person by person."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from ledger.builders import (
    FIRST,
    SECOND,
    Person,
    changes_of,
    draft_of,
    new_series,
    proof_of,
    publish,
)
from serigraph.errors import ImpossibleState, LedgerDamaged
from serigraph.ledger import Series, WrittenFile, WrittenParts
from serigraph.ledger.encoding import encode_parts
from serigraph.ledger.layout import Layout
from serigraph.ledger.person_numbers import Numbered
from serigraph.model import CohortChanges, Cohorts

VALUES = ("HIV", "flu", "gout", "lupus")
JOINED = changes_of({"ann": 1, "bob": 1, "cat": 0, "dan": 0})  # eve is in none
RETIRING = changes_of({"aaron": 2, "zoe": 2}, ["bob", "eve"])


@dataclass(frozen=True)
class Release:
    people: Sequence[Person]
    changes: CohortChanges | None


def parts_of(series: Series, release: int) -> dict[str, pl.DataFrame]:
    folder = series.path / "ledger" / f"{release:04d}"
    return {path.stem: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def test_the_parts_of_cohorts(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST, cohorts=changes_of({"ann": 1, "bob": 1, "cat": 0, "eve": 0}))
    publish(series, "b", SECOND, cohorts=RETIRING)
    first, second = parts_of(series, 1), parts_of(series, 2)
    assert first["cohorts"].rows() == [(0, 1), (1, 1), (2, 0), (4, 0)]
    assert first["cohorts"].schema == {"person": pl.UInt32, "cohort": pl.UInt32}
    assert first["retired"].is_empty()
    assert second["cohorts"].rows() == [(5, 2), (6, 2)]
    assert second["retired"].schema == {"person": pl.UInt32}
    assert second["retired"].rows() == [(1,), (4,)]
    schemas = [pq.read_schema(path) for path in series.path.glob("ledger/*/*.parquet")]
    assert not any(field.nullable for schema in schemas for field in schema)


def test_nobody_holds_joins_or_retires(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person("ann", 0), Person("bob", 0)], cohorts=changes_of({}))
    parts = parts_of(series, 1)
    assert {name: parts[name].height for name in ("holders", "cohorts", "retired")} == {
        "holders": 0,
        "cohorts": 0,
        "retired": 0,
    }
    cohorts = series.reader().cohorts(VALUES)
    assert (len(cohorts.ids), cohorts.formed, cohorts.ids.dtype) == (0, 0, pl.String)
    (only,) = series.reader().holders()
    assert only.held is not None
    assert (only.present.tolist(), only.held.height) == ([0, 1], 0)


def test_without_releases(tmp_path: Path) -> None:
    reader = new_series(tmp_path).reader()
    assert reader.cohorts(VALUES).ids.is_empty()
    assert list(reader.holders()) == []


def random_releases(rng: random.Random, *, text: bool, releases: int) -> list[Release]:
    """People join when they are members for the first time; some leave for good."""
    cohort: dict[str | int, int] = {}
    gone: set[str | int] = set()
    made = []
    for number in range(releases):
        everybody = [f"P{n}" if text else n for n in rng.sample(range(-20, 60), 40)]
        persists = number != 1  # a release without cohorts
        leaving = rng.sample(sorted(cohort.keys() - gone, key=str), min(4, len(cohort)))
        gone |= set(leaving) if persists else set()
        ids = [id for id in everybody if id not in gone]
        groups = rng.randint(1, 5)
        people = [
            Person(
                id,
                place % groups,
                present=(present := place < groups or rng.random() < 0.7),
                values=tuple(value for value in VALUES if present and rng.random() < 0.2),
            )
            for place, id in enumerate(ids)
        ]
        new = {id: 10 * number + rng.randint(0, 3) for id in ids if id not in cohort}
        if persists:
            cohort |= new
        made.append(Release(people, changes_of(new, leaving) if persists else None))
    return made


def as_dict(found: Cohorts) -> dict[object, tuple[int, int, set[str]]]:
    pairs: dict[int, set[str]] = {}
    for holder, value in zip(found.holder.tolist(), found.value, strict=True):
        assert value not in pairs.setdefault(holder, set())
        pairs[holder].add(value)
    assert found.ids.is_sorted()
    return {
        id: (int(found.cohort[place]), int(found.retired[place]), pairs.get(place, set()))
        for place, id in enumerate(found.ids)
    }


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_cohorts_equal_a_plain_reading(tmp_path: Path, seed: int, text: bool) -> None:
    rng = random.Random(seed)
    releases = random_releases(rng, text=text, releases=4)
    series = new_series(tmp_path)
    for number, release in enumerate(releases):
        publish(series, f"r{number}", release.people, cohorts=release.changes)
    asked = ["nobody holds it", *rng.sample(VALUES, 2)]
    expected: dict[object, tuple[int, int, set[str]]] = {}
    for number, release in enumerate(releases, 1):
        if release.changes is not None:
            for id, cohort in zip(release.changes.joined, release.changes.cohort, strict=True):
                expected[id] = (int(cohort), 0, set())
            for id in release.changes.retired:
                expected[id] = (expected[id][0], number, set())
    for release in releases:
        for person in release.people:
            if person.id in expected:
                expected[person.id][2].update(set(person.values) & set(asked))
    found = series.reader().cohorts(asked)
    assert as_dict(found) == expected
    assert found.ids.dtype == (pl.String if text else pl.Int64)
    assert found.formed == 1 + max(cohort for cohort, _, _ in expected.values())
    without = series.reader().cohorts([])
    assert (without.ids.equals(found.ids), len(without.holder), len(without.value)) == (True, 0, 0)


@pytest.mark.parametrize("text", [True, False])
def test_holders_equal_a_plain_reading(tmp_path: Path, text: bool) -> None:
    releases = random_releases(random.Random(9), text=text, releases=3)
    series = new_series(tmp_path)
    for number, release in enumerate(releases):
        publish(series, f"r{number}", release.people, cohorts=release.changes)
    ids = series.people()["id"]
    for number, (release, found) in enumerate(
        zip(releases, series.reader().holders(), strict=True), 1
    ):
        assert found.release == number
        assert set(ids.gather(found.present)) == {p.id for p in release.people if p.present}
        assert found.held is not None
        pairs = list(zip(ids.gather(found.held["person"]), found.held["value"], strict=True))
        assert sorted(pairs, key=str) == sorted(
            ((person.id, value) for person in release.people for value in person.values), key=str
        )


def publish_as_before(series: Series, label: str, people: Sequence[Person]) -> None:
    """A release with the four kinds of part that version 0.1 and clusters write."""
    proof = proof_of(people)
    with series.writing() as writer:
        (writer.staging / "table.csv").write_text("group\n")
        asked = Numbered.asked(Layout(series.path), writer.releases, proof.ids)
        encoded = encode_parts(proof, asked.number, asked.people, np.empty(0, dtype=np.int64))
        writer.attempts.mkdir(mode=0o700)
        files = []
        for digest in encoded.digests:
            if digest.name != "holders.parquet":
                path = writer.attempts / digest.name
                path.write_bytes(encoded.contents[digest.name])
                files.append(WrittenFile(digest.name, path, digest.sha256))
        written = WrittenParts(
            tuple(files), encoded.ids, encoded.newcomers, encoded.members, encoded.groups
        )
        writer.commit_written(written, draft_of(label))


def test_releases_without_the_parts_among_others(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish_as_before(series, "a", FIRST)
    publish(series, "b", FIRST, cohorts=JOINED)
    publish_as_before(series, "c", [Person("dan", 0, ("gout",))])
    publish(series, "d", SECOND)
    assert sorted(parts_of(series, 1)) == ["groups", "members", "people", "values"]
    series.check()
    assert series.unknown_files() == ()
    reader = series.reader()
    assert [each.held is None for each in reader.holders()] == [True, False, True, False]
    assert as_dict(reader.cohorts(["HIV", "flu", "gout"])) == {
        "ann": (1, 0, {"flu", "HIV"}),
        "bob": (1, 0, set()),
        "cat": (0, 0, {"HIV", "flu"}),
        "dan": (0, 0, {"flu"}),
    }
    assert reader.history(pl.Series(["ann"]), ["flu"]).releases == 4


def test_values_in_two_unicode_forms_are_one(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person("ann", 0, ("e\u0301",))], cohorts=changes_of({"ann": 0}))
    publish(series, "b", [Person("ann", 0, ("é",))], cohorts=changes_of({}))
    assert as_dict(series.reader().cohorts(["é"])) == {"ann": (0, 0, {"é"})}
    held = [each.held for each in series.reader().holders()]
    assert [frame["value"].to_list() for frame in held if frame is not None] == [["é"], ["é"]]


def test_people_who_join_and_retire_at_once(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST, cohorts=changes_of({"cat": 0}))
    publish(series, "b", SECOND, cohorts=changes_of({"aaron": 1, "ann": 1}, ["aaron", "ann"]))
    assert parts_of(series, 2)["retired"].rows() == [(0,), (5,)]  # aaron is new
    assert as_dict(series.reader().cohorts(["HIV"])) == {
        "aaron": (1, 2, {"HIV"}),
        "ann": (1, 2, {"HIV"}),
        "cat": (0, 0, {"HIV"}),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (changes_of({"ann": 1}, ["bob"]), "do not fit"),  # a member who does not join
        (changes_of({"ann": 1}, ["nobody"]), "does not know"),
    ],
)
def test_people_who_cannot_retire_are_refused(
    tmp_path: Path, changes: CohortChanges, message: str
) -> None:
    series = new_series(tmp_path)
    with series.writing() as writer, pytest.raises(ImpossibleState, match=message):
        writer.commit(proof_of(FIRST, changes), draft_of("a"))


@pytest.mark.parametrize(
    "later",
    [
        changes_of({"ann": 3}),  # in cohort 1 already
        changes_of({}, ["eve"]),  # in none
        changes_of({}, ["bob"]),  # retired already
    ],
)
def test_people_who_join_or_retire_twice_are_noticed(tmp_path: Path, later: CohortChanges) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST, cohorts=JOINED)
    publish(series, "b", SECOND, cohorts=changes_of({}, ["bob"]))
    series.reader().cohorts([])
    publish(series, "c", SECOND, cohorts=later)
    with pytest.raises(LedgerDamaged, match="twice"):
        series.reader().cohorts([])


def test_a_holder_who_is_named_twice_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    sound = proof_of(FIRST)
    twice = np.repeat([1], len(sound.holder))
    twice[0] = 2
    broken = replace(
        sound,
        holder=np.repeat(sound.holder, twice),
        held=np.repeat(sound.held, twice),
        value_count=np.where(sound.value_group == 0, 2, sound.value_count),
    )
    with series.writing() as writer, pytest.raises(ImpossibleState, match="twice"):
        writer.commit(broken, draft_of("a"))
