from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
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
from serigraph.errors import (
    ImpossibleState,
    InputRefused,
    LedgerDamaged,
    SeriesExists,
    SeriesNotFound,
    TableError,
)
from serigraph.ledger import ReleaseDraft, Series, check_label


def test_a_new_series_holds_its_files_and_no_release(tmp_path: Path) -> None:
    files = {"policy.toml": b"a", "taxonomies/city.csv": b"b"}
    series = Series.create(tmp_path / "deep" / "clinic", files)
    assert series.path == tmp_path / "deep" / "clinic"
    assert (series.path / "policy.toml").read_bytes() == b"a"
    assert (series.path / "taxonomies" / "city.csv").read_bytes() == b"b"
    assert series.releases() == ()
    assert series.people().is_empty()
    assert [path.name for path in series.path.parent.iterdir()] == ["clinic"]
    series.check()


def test_an_empty_folder_may_become_a_series(tmp_path: Path) -> None:
    (tmp_path / "clinic").mkdir()
    assert new_series(tmp_path).releases() == ()


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    new_series(tmp_path)
    with pytest.raises(SeriesExists):
        new_series(tmp_path)
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(SeriesExists):
        Series.create(tmp_path / "notes", {"policy.toml": b""})
    assert (tmp_path / "notes").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic", "notes"]


@pytest.mark.parametrize(
    "name", ["../policy.toml", "/etc/policy", "catalog.sqlite", "ledger/0001/people.parquet", ""]
)
def test_initial_files_cannot_take_the_ledgers_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImpossibleState):
        Series.create(tmp_path / "clinic", {"policy.toml": b"", name: b""})
    assert list(tmp_path.iterdir()) == []


def test_a_series_needs_a_policy(tmp_path: Path) -> None:
    with pytest.raises(ImpossibleState):
        Series.create(tmp_path / "clinic", {})


def test_no_series(tmp_path: Path) -> None:
    with pytest.raises(SeriesNotFound):
        Series.open(tmp_path)


def test_a_release_comes_back_as_it_was_committed(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    returned = publish(series, "2024H1", FIRST)
    (release,) = Series.open(series.path).releases()
    assert release == returned
    assert (release.number, release.label, release.state) == (1, "2024H1", "published")
    assert release.published_at == "2024-07-01T12:30:00+00:00"
    assert release.policy == {"threshold": "1/3", "columns": ["age", "city"]}
    assert release.protected == {"values": ["flu", "HIV"]}
    assert release.summary == {"records": 3}
    assert (release.newcomers, release.members, release.groups) == (5, 5, 3)
    assert [file.name for file in release.files] == ["plots/risk.json", "table.csv"]
    public = series.path / "releases" / "2024H1"
    assert (public / "table.csv").read_text() == "group\n2024H1\n"
    assert (public / "plots" / "risk.json").read_text() == "{}"
    assert list((series.path / "staging").iterdir()) == []
    series.check()


def test_the_parts_hold_what_the_layout_says(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", SECOND)
    parts = series.path / "ledger" / "0002"
    assert sorted(path.name for path in parts.iterdir()) == [
        "groups.parquet",
        "holders.parquet",
        "members.parquet",
        "people.parquet",
        "values.parquet",
    ]
    people = pl.read_parquet(parts / "people.parquet")
    assert people.schema == {"id": pl.String}
    assert people["id"].to_list() == ["aaron", "zoe"]
    members = pl.read_parquet(parts / "members.parquet")
    assert members.schema == {"person": pl.UInt32, "group": pl.UInt32, "present": pl.Boolean}
    assert members.rows() == [
        (0, 0, True),
        (2, 0, False),
        (3, 1, True),
        (5, 0, True),
        (6, 1, True),
    ]
    groups = pl.read_parquet(parts / "groups.parquet")
    assert groups.to_dict(as_series=False) == {"group": [0, 1], "size": [3, 2], "present": [2, 2]}
    values = pl.read_parquet(parts / "values.parquet")
    assert values.rows() == [(0, "HIV", 2), (1, "flu", 1)]
    assert values.schema["value"] == pl.String
    holders = pl.read_parquet(parts / "holders.parquet")
    assert holders.schema == {"person": pl.UInt32, "value": pl.String}
    assert holders.rows() == [(0, "HIV"), (3, "flu"), (5, "HIV")]
    schemas = [pq.read_schema(path) for path in parts.iterdir()]
    assert not any(field.nullable for schema in schemas for field in schema)


def test_another_engine_reads_the_parts(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    parts = series.path / "ledger" / "0001"
    rows = duckdb.sql(
        f"SELECT person, \"group\", present FROM '{parts}/members.parquet' ORDER BY person"
    ).fetchall()
    assert rows == [(0, 0, True), (1, 0, True), (2, 1, True), (3, 1, False), (4, 2, True)]
    ids = duckdb.sql(f"SELECT id FROM '{parts}/people.parquet'").fetchall()
    assert ids == [("ann",), ("bob",), ("cat",), ("dan",), ("eve",)]


def test_people_keep_their_number(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", SECOND)
    people = series.people()
    assert people.schema == {"person": pl.UInt32, "id": pl.String}
    assert people["id"].to_list() == ["ann", "bob", "cat", "dan", "eve", "aaron", "zoe"]
    assert people["person"].to_list() == list(range(7))


ODD_IDS = ["", "a b", "a\nb", "a\0b", "a,b;\"c'", "NULL", "été", "007", "人", "🧑‍⚕️", "17"]


def test_text_ids_with_odd_characters_come_back(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person(id, 0, ("flu",)) for id in ODD_IDS])
    publish(series, "b", [Person(id, 0, ("flu",)) for id in ODD_IDS])
    assert sorted(series.people()["id"]) == sorted(ODD_IDS)
    for id in ODD_IDS:
        assert [past.count for past in series.exposures(id, "flu")] == [11, 11]


def test_ids_of_an_older_ledger_are_found_in_another_unicode_form(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", [Person("e\u0301te\u0301", 0, ("flu",)), Person("\ufeffP", 0, ())])
    publish(series, "b", [Person("P", 0, ("flu",)), Person("été", 0, ())])
    assert series.people()["id"].to_list() == ["été", "P"]
    for written in ("été", "e\u0301te\u0301"):
        assert [past.label for past in series.exposures(written, "flu")] == ["a", "b"]


def test_a_ledger_that_knows_a_person_twice_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    both = [Person(id, 0, ("flu",)) for id in ("e\u0301te\u0301", "été")]
    publish(series, "a", both)
    with pytest.raises(LedgerDamaged, match="two Unicode forms of one id"):
        publish(series, "b", both)


def test_integer_ids_to_the_limits(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    ids = [-(2**63), -5, 0, 7, 2**63 - 1]
    publish(series, "a", [Person(id, 0, ("flu",)) for id in ids])
    publish(series, "b", [Person(id, 0, ("flu",)) for id in [-6, *ids]])
    assert series.people()["id"].to_list() == [*ids, -6]
    assert [past.size for past in series.exposures("-5", "flu")] == [5, 6]
    assert [past.size for past in series.exposures(-6, "flu")] == [6]


def test_ids_of_another_type_are_refused_and_change_nothing(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    with pytest.raises(TableError, match="the ids are integer, those of the series are text"):
        publish(series, "b", [Person(1, 0)])
    with pytest.raises(TableError):
        series.history(pl.Series([1]), ["flu"])
    with pytest.raises(TableError, match="Float64"):
        series.history(pl.Series([1.0]), ["flu"])
    assert len(series.releases()) == 1
    series.check()


def test_leaving_without_a_commit_changes_nothing(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    with series.writing() as writer:
        assert writer.releases == ()
        (writer.staging / "table.csv").write_text("x")
    assert series.releases() == ()
    assert list((series.path / "staging").iterdir()) == []
    with pytest.raises(KeyError), series.writing():
        raise KeyError
    publish(series, "a", FIRST)


def test_a_writer_commits_once(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    with series.writing() as writer:
        writer.commit(proof_of(FIRST), draft_of("a"))
        with pytest.raises(ImpossibleState):
            writer.commit(proof_of(SECOND), draft_of("b"))
    assert [release.label for release in series.releases()] == ["a"]


def test_a_proof_that_does_not_add_up_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    sound = proof_of(FIRST)
    wrong = [
        {"size": sound.size + 1},
        {"present_size": sound.present_size - 1},
        {"value_count": sound.value_count * 9},
        {"value_group": sound.value_group + np.uint32(7)},
        {"group": sound.group + np.uint32(7)},
        {"ids": sound.ids.reverse()},
        {"ids": sound.ids.head(4)},
        {"holder": sound.holder + 3},
        {"holder": sound.holder - 1},
        {"holder": np.where(sound.holder == 2, 3, sound.holder)},  # somebody without a record
        {"holder": np.where(sound.holder == 0, 4, sound.holder)},  # somebody of another group
        {"held": sound.held + 1},
        {"held": sound.held[::-1]},
        {"holder": sound.holder[1:], "held": sound.held[1:]},
        {"protected_names": ("HIV", "cough", "gout")},
        {"cohorts": changes_of({"ann": 0, "fay": 0})},  # nobody of the release
        {"cohorts": changes_of({"ann": -1})},
        {"cohorts": changes_of({"ann": 2**32})},
        {"cohorts": changes_of({1: 0})},
        {"cohorts": replace(changes_of({"ann": 0}), cohort=np.zeros(2, dtype=np.int64))},
        {"cohorts": changes_of({}, ["ann"])},  # a member
        {"cohorts": changes_of({}, ["zoe"])},  # nobody of the ledger
        {"cohorts": replace(changes_of({}), joined=pl.Series(["ann", "ann"]))},
    ]
    for change in wrong:
        broken = replace(sound, **change)
        with series.writing() as writer, pytest.raises(ImpossibleState):
            writer.commit(broken, draft_of("a"))
    assert series.releases() == ()


@pytest.mark.parametrize("label", ["2024H1", "2024-07-01", "v1.2", "a", "x" * 100, "A_b-"])
def test_usable_labels(label: str) -> None:
    check_label(label)


@pytest.mark.parametrize(
    "label", ["", ".", "..", ".a", "-a", "a/b", "a\\b", "a b", "a.", "x" * 101, "é", "CON", "nul.x"]
)
def test_unusable_labels(label: str) -> None:
    with pytest.raises(InputRefused):
        draft_of(label)


def test_drafts_are_checked_when_they_are_made() -> None:
    with pytest.raises(ImpossibleState):
        draft_of("a", adversary="somebody")
    sound = draft_of("a")
    fields = {name: getattr(sound, name) for name in ReleaseDraft.__slots__}
    with pytest.raises(ImpossibleState):
        ReleaseDraft(**{**fields, "published_at": datetime(2024, 1, 1)})
    east = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert (
        ReleaseDraft(**{**fields, "published_at": east}).published_at_utc
        == datetime(2023, 12, 31, 23, tzinfo=UTC).isoformat()
    )


def test_a_draft_that_json_cannot_say_is_refused_before_the_commit(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    sound = draft_of("a")
    fields = {name: getattr(sound, name) for name in ReleaseDraft.__slots__}
    with series.writing() as writer, pytest.raises(ImpossibleState):
        writer.commit(proof_of(FIRST), ReleaseDraft(**{**fields, "summary": {"x": object()}}))
    assert series.releases() == ()
    publish(series, "a", FIRST)


def test_a_backup_may_leave_empty_folders_out(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    for name in ("ledger", "releases", "staging"):
        (series.path / name).rmdir()
    publish(Series.open(series.path), "a", FIRST)
    series.check()


def test_a_ledger_without_its_catalog_is_no_new_series(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    (series.path / "catalog.sqlite").unlink()
    with pytest.raises(LedgerDamaged, match=r"catalog\.sqlite"):
        Series.open(series.path)
    with pytest.raises(SeriesExists):
        new_series(tmp_path)
