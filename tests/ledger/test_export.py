"""The contract that others read; a change here is a change for them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import serigraph
from ledger.builders import FIRST, SECOND, Person, changes_of, new_series, publish
from serigraph import publishing
from serigraph.errors import InputRefused, StorageError
from serigraph.ledger import PRESENCE_KNOWN, Series

CONTRACT = {
    "releases": {
        "release": pl.Int64,
        "label": pl.String,
        "published_at": pl.String,
        "threshold": pl.String,
        "strategy": pl.String,
        "adversary": pl.String,
        "known_members": pl.Int64,
    },
    "members": {"release": pl.Int64, "person": pl.String, "group": pl.Int64, "present": pl.Boolean},
    "groups": {
        "release": pl.Int64,
        "group": pl.Int64,
        "size": pl.Int64,
        "present": pl.Int64,
        "excluded": pl.Int64,
    },
    "values": {"release": pl.Int64, "group": pl.Int64, "value": pl.String, "count": pl.Int64},
    "thresholds": {
        "release": pl.Int64,
        "value": pl.String,
        "threshold": pl.String,
        "persistence": pl.String,
    },
    "classes": {"release": pl.Int64, "class": pl.String, "value": pl.String},
}
CONFIDENTIAL = {
    "holders": {"release": pl.Int64, "person": pl.String, "value": pl.String},
    "cohorts": {"release": pl.Int64, "person": pl.String, "cohort": pl.Int64},
    "retired": {"release": pl.Int64, "person": pl.String},
}


def read(folder: Path, *, confidential: bool = False) -> dict[str, pl.DataFrame]:
    contract = CONTRACT | (CONFIDENTIAL if confidential else {})
    assert sorted(p.name for p in folder.iterdir()) == sorted(f"{n}.parquet" for n in contract)
    frames = {name: pl.read_parquet(folder / f"{name}.parquet") for name in contract}
    for name, frame in frames.items():
        assert dict(frame.schema) == contract[name]
        assert frame.columns == list(contract[name])
    return frames


def test_two_releases(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", SECOND, adversary=PRESENCE_KNOWN)
    series.export(tmp_path / "deep" / "out")
    frames = read(tmp_path / "deep" / "out")
    at, strategy = "2024-07-01T12:30:00+00:00", "constant ratio for 20 releases"
    assert frames["releases"].rows() == [
        (1, "a", at, "1/3", strategy, "presence unknown", 0),
        (2, "b", at, "1/3", strategy, "presence known", 0),
    ]
    assert sorted(frames["members"].rows()) == sorted(
        (release, person.id, person.group, person.present)
        for release, people in enumerate((FIRST, SECOND), 1)
        for person in people
    )
    assert frames["groups"].rows() == [
        (1, 0, 2, 2, 0),
        (1, 1, 2, 1, 0),
        (1, 2, 1, 1, 0),
        (2, 0, 3, 2, 0),
        (2, 1, 2, 2, 0),
    ]
    assert frames["values"].rows() == [
        (1, 0, "flu", 1),
        (1, 1, "HIV", 1),
        (1, 1, "flu", 1),
        (1, 2, "cough", 1),
        (2, 0, "HIV", 2),
        (2, 1, "flu", 1),
    ]
    assert frames["thresholds"].rows() == [
        (1, "HIV", "1/3", "transient"),
        (1, "cough", "1/3", "transient"),
        (1, "flu", "1/3", "transient"),
        (2, "HIV", "1/3", "transient"),
        (2, "flu", "1/3", "transient"),
    ]


def test_who_held_what_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publish(series, "b", FIRST, cohorts=changes_of({"ann": 1, "bob": 0, "dan": 0}))
    publish(series, "c", SECOND, cohorts=changes_of({"aaron": 2}, ["bob"]))
    series.export(tmp_path / "plain")
    serigraph.export(series, tmp_path / "whole", confidential=True)
    plain = read(tmp_path / "plain")
    whole = read(tmp_path / "whole", confidential=True)
    assert all(whole[name].equals(frame) for name, frame in plain.items())
    assert sorted(whole["holders"].rows()) == sorted(
        (release, person.id, value)
        for release, people in enumerate((FIRST, FIRST, SECOND), 1)
        for person in people
        for value in person.values
    )
    assert whole["cohorts"].rows() == [(2, "ann", 1), (2, "bob", 0), (2, "dan", 0), (3, "aaron", 2)]
    assert whole["retired"].rows() == [(3, "bob")]


def test_spark_refuses_to_export_who_held_what(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    with pytest.raises(InputRefused, match="Spark does not export the confidential parts"):
        serigraph.export(series, tmp_path / "out", confidential=True, engine=serigraph.Spark())
    assert not (tmp_path / "out").exists()


def test_thresholds_and_classes(tmp_path: Path) -> None:
    """Whoever has the export alone can tell whether every value is within its own threshold."""
    text = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
{protected}
[protected.classes]
"any STD" = ["chlamydia", "gonorrhoea"]
[protected.thresholds]
"any STD" = "1/5"
HIV = "0.09"
[protected.persistence]
default = "any"
"any STD" = "permanent"
[guarantee]
threshold = "1/3"
[strategy]
name = "constant"
releases = 1
"""
    diseases = ["HIV", "chlamydia", "gonorrhoea", *["flu"] * 197]
    table = pl.DataFrame(
        {"patient": range(200), "age": [20 + n % 9 for n in range(200)], "diagnosis": diseases}
    )
    expected = [
        (1, "HIV", "9/100", "any"),
        (1, "any STD", "1/5", "permanent"),
        (1, "chlamydia", "1/3", "any"),
        (1, "gonorrhoea", "1/3", "any"),
    ]
    for number, protected in enumerate(
        ('values = ["HIV", "chlamydia", "gonorrhoea"]', 'except = ["flu"]')
    ):
        policy = text.format(protected=protected).encode()
        series = Series.create(tmp_path / f"clinic{number}", {"policy.toml": policy})
        publishing.publish(table, series, label="r1")
        series.export(tmp_path / f"out{number}")
        frames = read(tmp_path / f"out{number}")
        assert frames["thresholds"].rows() == expected
        assert frames["classes"].rows() == [
            (1, "any STD", "chlamydia"),
            (1, "any STD", "gonorrhoea"),
        ]
        assert set(frames["values"]["value"]) <= set(frames["thresholds"]["value"])


def test_integer_ids_are_exported_as_text(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    people = [Person(-3, 0, ("flu",)), Person(12, 0)]
    publish(series, "a", people, cohorts=changes_of({-3: 0, 12: 0}))
    series.export(tmp_path / "out", confidential=True)
    frames = read(tmp_path / "out", confidential=True)
    assert frames["members"]["person"].to_list() == ["-3", "12"]
    assert frames["holders"].rows() == [(1, "-3", "flu")]
    assert frames["cohorts"].rows() == [(1, "-3", 0), (1, "12", 0)]


def test_a_series_without_releases_exports_empty_files(tmp_path: Path) -> None:
    new_series(tmp_path).export(tmp_path / "out", confidential=True)
    frames = read(tmp_path / "out", confidential=True)
    assert all(frame.is_empty() for frame in frames.values())


def test_an_empty_folder_and_what_a_killed_export_left_are_used(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    (tmp_path / "out" / ".unfinished").mkdir(parents=True)
    (tmp_path / "out" / ".unfinished" / "members.parquet").write_text("half")
    series.export(tmp_path / "out")
    read(tmp_path / "out")


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputRefused, match="not empty"):
        series.export(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    with pytest.raises(InputRefused, match="not empty"):
        series.export(tmp_path / "out" / "mine.txt")


def test_a_disk_that_fails_leaves_no_half_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(StorageError, match="no space left"):
            series.export(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    series.export(tmp_path / "out")
    read(tmp_path / "out")
