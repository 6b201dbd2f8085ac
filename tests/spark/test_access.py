"""Who may read what Spark writes, what lies beside it, and which series it may go on with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import serigraph
from ledger.modes import modes, open_to_others
from publishing.clinic import clinic, new_series, policy_text
from serigraph.errors import LedgerDamaged, SeriesDiverged, SeriesError
from serigraph.ledger import Series

pytestmark = [
    pytest.mark.parametrize("spark", ["local[2]"], indirect=True),
    pytest.mark.usefixtures("spark"),
]
HOSPITAL = clinic(releases=2, people=1500, registered=2500, seed=3)
FILES = 'form = "generalised"\nfiles = ["csv", "parquet"]'


def publish(series: Series, number: int, **options: str | Path) -> serigraph.publishing.Published:
    return serigraph.publish(
        HOSPITAL.tables[number - 1],
        series,
        label=f"r{number}",
        engine=serigraph.Spark(partition_people=700),
        **options,
    )


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_a_series_in_pieces(tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text(output=FILES))
    key = serigraph.make_key(tmp_path / "clinic.key")
    first = publish(series, 1, after="", sign=key.private)
    found = modes(series.path)
    assert found["folder clinic/releases/r1/table.csv"] == "0o700", "a table in several files"
    assert found["file clinic/releases/r1/table.csv/part-00001.csv"] == "0o600"
    assert not open_to_others(series.path)
    certificate = series.path / "releases" / "r1" / "certificate.json"
    assert serigraph.verify(certificate, key=key.public).signed_by == key.fingerprint

    serigraph.export(series, tmp_path / "export", engine=serigraph.Spark())
    assert "folder export/members.parquet" in modes(tmp_path / "export")
    assert not open_to_others(tmp_path / "export")

    assert series.unknown_files() == ()
    unknown = "releases/r1/table.csv/part-00009.csv"
    (series.path / unknown).write_text("age,sex,zip,diagnosis\n")
    (series.path / "releases/r1/table.parquet/part-00009.parquet").write_text("no Parquet")
    for audited in (serigraph.audit(series), serigraph.audit(series, engine=serigraph.Spark())):
        assert audited.files_agree
        assert any(repr(unknown) in note for note in audited.notes)
    for files_only in (False, True):
        with pytest.raises(LedgerDamaged, match=r"does not name.*part-00009"):
            serigraph.verify(certificate, files_only=files_only)

    backup = Series(shutil.copytree(series.path, tmp_path / "backup"))
    second = publish(series, 2, after=first.record.chain)
    assert any(repr(unknown) in note for note in second.notes)
    assert (series.path / unknown).exists()
    with pytest.raises(SeriesDiverged, match="old backup"):
        publish(backup, 2, after=second.record.chain)
    assert len(backup.releases()) == 1


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "photo").write_text("smile")
    (series.path / "staging").rmdir()
    (series.path / "staging").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SeriesError, match="symbolic link"):
        publish(series, 1)
    assert (tmp_path / "elsewhere" / "photo").read_text() == "smile"
    assert series.releases() == ()
