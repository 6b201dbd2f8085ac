"""Folders of a series that are links or mounts: refused before anything is moved or removed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger.builders import FIRST, SECOND, new_series, publish, shape_on_disk
from serigraph.errors import SeriesError
from serigraph.ledger import Series

FOLDERS = ["staging", "releases", "ledger"]


def may_mount() -> bool:
    """Whether this is root, on Linux, and not in a container that takes the right away."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


can_mount = pytest.mark.skipif(not may_mount(), reason="this user may not mount")


@pytest.fixture
def series(tmp_path: Path) -> Series:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    return series


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder with files that are nobody's to remove."""
    folder = tmp_path / "elsewhere"
    (folder / "letters").mkdir(parents=True)
    (folder / "letters" / "one").write_text("dear")
    (folder / "photo").write_text("smile")
    return folder


def refused(series: Series, name: str) -> None:
    before = series.releases()
    with pytest.raises(SeriesError) as caught:
        publish(series, "b", SECOND)
    assert caught.value.where == name
    assert "move the whole series" in caught.value.remedy
    assert series.releases() == before


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_to_a_folder_of_somebody_else(series: Series, elsewhere: Path, name: str) -> None:
    shutil.rmtree(series.path / name)
    (series.path / name).symlink_to(elsewhere)
    before = shape_on_disk(elsewhere)
    opened = Series.open(series.path)
    refused(opened, name)
    assert shape_on_disk(elsewhere) == before
    with pytest.raises(SeriesError):
        opened.check()
    assert shape_on_disk(elsewhere) == before


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_to_what_was_moved(series: Series, tmp_path: Path, name: str) -> None:
    shutil.move(series.path / name, tmp_path / "moved")
    (series.path / name).symlink_to(tmp_path / "moved")
    refused(Series.open(series.path), name)


def test_a_link_that_leads_nowhere(series: Series, tmp_path: Path) -> None:
    (series.path / "staging").rmdir()
    (series.path / "staging").symlink_to(tmp_path / "nowhere")
    refused(Series.open(series.path), "staging")


def test_a_link_among_the_leftovers_is_removed_and_not_followed(
    series: Series, elsewhere: Path
) -> None:
    before = shape_on_disk(elsewhere)
    (series.path / "staging" / "0002").symlink_to(elsewhere)
    publish(series, "b", SECOND)
    assert shape_on_disk(elsewhere) == before
    assert not any((series.path / "staging").iterdir())


def tmpfs(folder: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "none", str(folder)]


def same_file_system(folder: Path) -> list[str]:
    return ["mount", "--bind", str(folder), str(folder)]


@pytest.fixture
def mounted() -> Iterator[Callable[[list[str]], None]]:
    folders: list[str] = []

    def mount(command: list[str]) -> None:
        subprocess.run(command, check=True)
        folders.append(command[-1])

    yield mount
    for folder in folders:
        subprocess.run(["umount", folder], check=True)


@can_mount
@pytest.mark.parametrize("kind", [tmpfs, same_file_system])
@pytest.mark.parametrize("name", FOLDERS)
def test_another_file_system(
    tmp_path: Path,
    name: str,
    kind: Callable[[Path], list[str]],
    mounted: Callable[[list[str]], None],
) -> None:
    series = new_series(tmp_path)
    mounted(kind(series.path / name))
    refused(series, name)
    assert not any((series.path / "ledger").iterdir())
    assert not any((series.path / "releases").iterdir())


@can_mount
def test_a_whole_series_on_another_file_system(
    tmp_path: Path, mounted: Callable[[list[str]], None]
) -> None:
    (tmp_path / "disk").mkdir()
    mounted(tmpfs(tmp_path / "disk"))
    series = new_series(tmp_path / "disk")
    assert publish(series, "a", FIRST).is_published
