"""Killed at any point, a draft is whole or not there, and so is the release that it becomes."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest

import serigraph
from drafts.hospital import Kind, bytes_of, hospital
from publishing import dying
from publishing.series_digest import digest_of_series
from serigraph.errors import AlreadyPublished, SeriesBusy
from serigraph.ledger import Series

SEED = 17
TIMES = 3


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release and a draft of the next, beside the table of the latter."""
    folder = tmp_path_factory.mktemp("template")
    made = hospital(folder, Kind(has_registry=False))
    serigraph.publish(made.tables[0], made.series, label="first")
    made.tables[1].write_parquet(folder / "second.parquet")
    serigraph.draft(folder / "second.parquet", made.series)
    return folder


def killed(series: Path, wait: float, *command: object) -> None:
    """Run a command, and kill it a while after it has begun to write."""
    process = dying.command(*command)
    dying.wait_for(lambda: any((series / "staging").iterdir()) or process.poll() is not None)
    time.sleep(wait)
    process.kill()
    process.communicate()


def test_killed_while_drafting(template: Path, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    for number in range(TIMES):
        series = Path(shutil.copytree(template / "clinic", tmp_path / f"{number}"))
        serigraph.discard_draft(series, "second")
        before = digest_of_series(series)
        killed(
            series, draw.uniform(0, 0.6), "draft", template / "second.parquet", "--series", series
        )
        found = serigraph.drafts(series)
        assert not list((series / "staging").iterdir())
        if found:
            public = bytes_of(found[0].public)
            release = serigraph.publish_draft(series, found[0].name)
            assert bytes_of(release.folder) == public
        else:
            assert digest_of_series(series) == before
            serigraph.draft(template / "second.parquet", series)
            serigraph.publish_draft(series, "second")
        Series.open(series).check()


def test_killed_while_publishing_a_draft(template: Path, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    for number in range(TIMES):
        series = Path(shutil.copytree(template / "clinic", tmp_path / f"{number}"))
        (draft,) = serigraph.drafts(series)
        public, before = bytes_of(draft.public), digest_of_series(series)
        killed(series, draw.uniform(0, 0.3), "publish", "--draft", draft.name, "--series", series)
        labels = [release.label for release in Series.open(series).releases()]
        assert not list((series / "staging").iterdir())
        if labels == ["first"]:
            assert digest_of_series(series) == before
            serigraph.publish_draft(series, draft.name)
        with pytest.raises(AlreadyPublished):
            serigraph.publish_draft(series, draft.name)
        assert serigraph.drafts(series) == ()
        assert bytes_of(series / "releases" / "second") == public
        Series.open(series).check()


def test_a_draft_that_a_kill_left_behind_is_removed_by_the_next_writer(
    template: Path, tmp_path: Path
) -> None:
    series = Path(shutil.copytree(template / "clinic", tmp_path / "clinic"))
    shutil.copytree(series / "drafts", tmp_path / "drafts")
    (draft,) = serigraph.drafts(series)
    serigraph.publish_draft(series, draft.name)
    shutil.copytree(tmp_path / "drafts", series / "drafts", dirs_exist_ok=True)
    (left,) = serigraph.drafts(series)
    assert left.obstacle == "it is out already, as release 2"
    with pytest.raises(AlreadyPublished, match="this draft is out already"):
        serigraph.publish_draft(series, draft.name)
    assert serigraph.drafts(series) == ()


def test_one_writer_at_a_time(template: Path, tmp_path: Path) -> None:
    series = Path(shutil.copytree(template / "clinic", tmp_path / "clinic"))
    with Series.open(series).writing():
        for attempt in (
            lambda: serigraph.publish_draft(series, "second"),
            lambda: serigraph.discard_draft(series, "second"),
            lambda: serigraph.draft(template / "second.parquet", series),
        ):
            with pytest.raises(SeriesBusy):
                attempt()
        assert len(serigraph.drafts(series)) == 1
    publishers = [
        dying.command("publish", "--draft", "second", "--series", series, "--wait", 60)
        for _ in range(3)
    ]
    said = [each.communicate(timeout=dying.PATIENCE)[1] for each in publishers]
    codes = sorted(each.returncode for each in publishers)
    assert codes == [0, 5, 5], said
    assert [release.label for release in Series.open(series).releases()] == ["first", "second"]
    Series.open(series).check()
