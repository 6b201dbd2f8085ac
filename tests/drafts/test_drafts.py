"""A draft is what a release would be, and publishing it publishes exactly that."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import serigraph
from drafts.hospital import KINDS, Hospital, Kind, bytes_of, hospital
from ledger.modes import open_to_others
from publishing.series_digest import digest_of_series
from serigraph.errors import (
    AlreadyPublished,
    DraftNotFound,
    DraftRefused,
    InputRefused,
    SeriesDiverged,
)
from serigraph.ledger import Series


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_was_seen_is_what_comes_out(kind: Kind, tmp_path: Path) -> None:
    made = hospital(tmp_path, kind)
    for number, table in enumerate(made.tables[:2], 1):
        label = f"r{number}"
        draft = serigraph.draft(table, made.series, label=label, **made.options)
        assert (draft.label, draft.number, draft.obstacle) == (label, number, "")
        public, parts = bytes_of(draft.public), bytes_of(draft.folder / "parts")
        assert [each.label for each in made.series.releases()] == [
            f"r{each}" for each in range(1, number)
        ]
        release = serigraph.publish_draft(made.series, draft.name)
        assert bytes_of(release.folder) == public
        assert bytes_of(made.series.path / "ledger" / f"{number:04d}") == parts
        assert release.record.published_at == draft.made_at
        assert draft.figures.items() <= release.figures.items()
        assert release.value_list == draft.value_list
        assert serigraph.drafts(made.series) == ()
        assert serigraph.verify(release.folder / "certificate.json").largest is not None
        assert made.series.unknown_files() == ()
    made.series.check()
    found = serigraph.audit(made.series)
    assert found.is_within
    assert found.files_agree


def test_a_disk_that_fails_after_the_commit_does_not_hide_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hospital(tmp_path, Kind())
    draft = serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    public = made.series.path / "releases" / "r1"
    as_ever = Path.glob

    def glob(folder: Path, pattern: str) -> Iterator[Path]:
        if folder == public:
            raise OSError(errno.EIO, "input/output error")
        return as_ever(folder, pattern)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", glob)
        release = serigraph.publish_draft(made.series, draft.name)
        with pytest.raises(OSError, match="input/output"):
            list(release.tables)
    assert list(release.tables) == ["table"]


def test_what_is_suppressed_stays_charged(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    table = made.tables[0]
    holders = table["diagnosis"].to_list()
    frequent = table.with_columns(diagnosis=pl.Series(["rare-00"] * 30 + holders[30:]))
    options = made.options | {"allow_suppression": True}
    draft = serigraph.draft(frequent, made.series, label="r1", **options)
    assert draft.figures["suppressed"]
    release = serigraph.publish_draft(made.series, draft.name)
    assert release.record.protected["gap_survival"]
    second = serigraph.draft(made.tables[1], made.series, label="r2", **options)
    serigraph.publish_draft(made.series, second.name)
    assert serigraph.audit(made.series).is_within


def test_a_series_of_an_older_format_goes_on(tmp_path: Path) -> None:
    """That of version 0.1 has no salts; its first release brings them, drafted or not."""
    made = hospital(tmp_path, Kind())
    with closing(sqlite3.connect(made.series.path / "catalog.sqlite")) as catalog:
        catalog.execute("ALTER TABLE release DROP COLUMN salt")
        catalog.execute("UPDATE series SET format = 1")
        catalog.commit()
    assert serigraph.drafts(made.series) == ()
    draft = serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    with closing(sqlite3.connect(made.series.path / "catalog.sqlite")) as catalog:
        assert catalog.execute("SELECT format FROM series").fetchall() == [(1,)]
    assert serigraph.publish_draft(made.series, draft.name).record.salt
    made.series.check()


def test_a_draft_is_read_back_as_it_was_made(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    serigraph.publish(made.tables[0], made.series, label="r1", **made.options)
    draft = serigraph.draft(made.tables[1], made.series, label="r2", **made.options)
    (found,) = serigraph.drafts(made.series)
    for each in ("name", "figures", "notes", "value_list", "attacks", "before", "after"):
        assert getattr(found, each) == getattr(draft, each)
    assert list(found.tables) == ["table"]
    assert found.tables["table"].height == 120
    assert serigraph.status(made.series).drafts == (draft.name,)


def test_nothing_else_of_the_series_changes_and_discarding_is_free(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    serigraph.publish(made.tables[0], made.series, label="r1", **made.options)
    before = digest_of_series(made.series.path)
    names = [
        serigraph.draft(table, made.series, label=label, **made.options).name
        for table, label in zip(made.tables[1:], ("a", "b"), strict=True)
    ]
    assert [each.name for each in serigraph.drafts(made.series)] == names
    found = digest_of_series(made.series.path)
    assert {name: each for name, each in found.items() if not name.startswith("drafts")} == before
    assert open_to_others(made.series.path) == {}
    assert made.series.unknown_files() == ()
    made.series.check()
    assert serigraph.discard_draft(made.series, "a") == names[0]
    assert [each.name for each in serigraph.drafts(made.series)] == names[1:]
    serigraph.discard_draft(made.series, names[1])
    assert digest_of_series(made.series.path) == before | {"drafts": "folder"}
    with pytest.raises(DraftNotFound):
        serigraph.discard_draft(made.series, names[1])


def test_random_numbers_are_drawn_when_it_is_drafted(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    one, other = (
        serigraph.draft(made.tables[0], made.series, label="r", **made.options) for _ in range(2)
    )
    assert one.name != other.name
    assert bytes_of(one.public) != bytes_of(other.public)
    with pytest.raises(InputRefused, match="several drafts"):
        serigraph.publish_draft(made.series, "r")
    serigraph.publish_draft(made.series, other.name)
    (left,) = serigraph.drafts(made.series)
    assert left.name == one.name
    assert "not at the release" in left.obstacle
    with pytest.raises(DraftRefused, match="not at the release"):
        serigraph.publish_draft(made.series, one.name)
    with pytest.raises(AlreadyPublished, match="nothing is left to do"):
        serigraph.publish_draft(made.series, other.name)


def test_the_report_shows_rows_and_what_differs(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    first, second = made.tables[:2]
    assert serigraph.draft(first, made.series, label="r1", **made.options).differences is None
    serigraph.publish_draft(made.series, "r1")
    draft = serigraph.draft(second, made.series, label="r2", **made.options)
    since = draft.differences
    assert since is not None
    before, now = (set(table["patient"]) for table in (first, second))
    assert (since.again, since.gone, since.new) == (
        len(before & now),
        len(before - now),
        len(now - before),
    )
    assert since.figures["people with a record"] == (120, 120)
    for name, (was, is_now) in since.values.items():
        held = [(table["diagnosis"] == name).sum() for table in (first, second)]
        assert [was, is_now] == held
    rare = {each for table in (first, second) for each in table["diagnosis"] if each[:4] == "rare"}
    assert set(since.values) == rare
    page = draft.report.read_text()
    assert "r1" in page
    assert all(name in page for name in rare)
    assert {each.attack.partition(",")[0] for each in draft.attacks} == {"deFinetti", "downcoding"}


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_rows_before_and_after_are_of_the_same_people(form: str, tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind(form))
    draft = serigraph.draft(made.tables[0], made.series, **made.options)
    rows = made.tables[0].drop("patient").with_columns(pl.all().cast(pl.String).fill_null(""))
    table = set(rows.iter_rows())
    assert len(draft.before) == len(draft.after) == 12
    assert all(tuple(row.values()) in table for row in draft.before)
    if form == "generalised":
        shown = set(draft.tables["table"].iter_rows())
        assert all(tuple(row.values()) in shown for row in draft.after)
        return
    shown = set(
        draft.tables["quasi_identifiers"]
        .with_columns(pl.all().cast(pl.String).fill_null(""))
        .iter_rows()
    )
    for before, after in zip(draft.before, draft.after, strict=True):
        assert tuple(after.values())[:-1] in shown
        assert before["diagnosis"] in after["diagnosis"]
        assert before.items() - after.items() <= {("diagnosis", before["diagnosis"])}


def test_no_document_of_the_release_tells_of_the_draft(tmp_path: Path) -> None:
    """What attacks found, samples and differences depend on who holds what. Which attacks ran does
    not."""
    made = hospital(tmp_path, Kind())
    draft = serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    assert set(bytes_of(draft.public)) == {
        "certificate.json",
        "report.html",
        "table.csv",
        "table.parquet",
    }
    digest = json.loads((draft.folder / "draft.json").read_bytes())
    for content in bytes_of(draft.public).values():
        assert b"times as often as claimed" not in content
        assert digest["nonce"].encode() not in content
        assert draft.name.encode() not in content
    certificate = json.loads((draft.public / "certificate.json").read_bytes())
    assert certificate["attacks"].keys() == {
        "names",
        "share_of_people",
        "most_values",
        "highest_lift",
    }
    assert b"How often each attack" in (draft.folder / "report.html").read_bytes()


@pytest.fixture
def drafted(tmp_path: Path) -> tuple[Hospital, str]:
    """A series with one release, and a draft of the next."""
    made = hospital(tmp_path, Kind())
    serigraph.publish(made.tables[0], made.series, label="r1", **made.options)
    return made, serigraph.draft(made.tables[1], made.series, label="r2", **made.options).name


def test_a_draft_after_which_the_series_went_on(drafted: tuple[Hospital, str]) -> None:
    made, name = drafted
    serigraph.publish(made.tables[2], made.series, label="r3", **made.options)
    before = digest_of_series(made.series.path)
    with pytest.raises(DraftRefused, match="not at the release"):
        serigraph.publish_draft(made.series, name)
    assert digest_of_series(made.series.path) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("policy.toml", '[publisher]\nname = "another"\n'),
        ("policy.toml", "[signing]\napprovals = 1\n"),
        ("taxonomies/zip.csv", "\n"),
    ],
)
def test_a_draft_after_which_the_policy_was_changed(
    drafted: tuple[Hospital, str], file: str, text: str
) -> None:
    made, name = drafted
    path = made.series.path / file
    path.write_text(path.read_text() + text)
    with pytest.raises(DraftRefused, match="the policy, or a file that it names, was changed"):
        serigraph.publish_draft(made.series, name)
    (left,) = serigraph.drafts(made.series)
    assert "the policy" in left.obstacle


def test_a_remark_in_the_policy_changes_nothing(drafted: tuple[Hospital, str]) -> None:
    made, name = drafted
    path = made.series.path / "policy.toml"
    path.write_text(f"# looked at\n{path.read_text()}")
    assert serigraph.publish_draft(made.series, name).record.number == 2


@pytest.mark.parametrize("releases", [0, 1])
def test_a_draft_of_another_series(tmp_path: Path, releases: int) -> None:
    one, other = (hospital(tmp_path / name, Kind()) for name in ("one", "other"))
    for made in (one, other):
        for number in range(releases):
            label = f"r{number}"
            serigraph.publish(made.tables[number], made.series, label=label, **made.options)
    draft = serigraph.draft(one.tables[2], one.series, **one.options)
    shutil.copytree(one.series.path / "drafts", other.series.path / "drafts")
    with pytest.raises(DraftRefused, match="not at the release"):
        serigraph.publish_draft(other.series, draft.name)
    assert len(other.series.releases()) == releases


def test_the_chain_that_was_seen_last(drafted: tuple[Hospital, str]) -> None:
    made, name = drafted
    with pytest.raises(SeriesDiverged):
        serigraph.publish_draft(made.series, name, after="")
    serigraph.publish_draft(made.series, name, after=made.series.releases()[-1].chain)


@pytest.mark.parametrize("name", ["", "r9", "../drafts", "r2-", "/", ".", "r2/.."])
def test_names(drafted: tuple[Hospital, str], name: str) -> None:
    made, known = drafted
    if name == "r2-":
        assert serigraph.discard_draft(made.series, name) == known
        return
    with pytest.raises(DraftNotFound):
        serigraph.publish_draft(made.series, name)
    assert len(serigraph.drafts(made.series)) == 1


def test_files_among_the_drafts_that_belong_to_none(drafted: tuple[Hospital, str]) -> None:
    made, name = drafted
    (made.series.path / "drafts" / "notes.txt").write_text("mine")
    (made.series.path / "drafts" / "r2").mkdir()
    (made.series.path / "drafts" / "r2" / "draft.json").write_text("{}")
    assert made.series.unknown_files() == ("drafts/notes.txt", "drafts/r2/draft.json")
    serigraph.publish_draft(made.series, name)
    assert Series.open(made.series.path).unknown_files() == (
        "drafts/notes.txt",
        "drafts/r2/draft.json",
    )


def test_spark_drafts_nothing(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind())
    with pytest.raises(InputRefused, match="on one machine, not on Spark"):
        serigraph.draft(made.tables[0], made.series, engine=serigraph.Spark())
