"""A disk that fails at any write: a clear error, nothing changed, and a retry that works."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import crashing
from ledger.builders import FIRST, SECOND, new_series, publish, shape_on_disk
from serigraph.errors import StorageError
from serigraph.ledger import Series, storage_errors


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = new_series(tmp_path_factory.mktemp("template"))
    publish(series, "a", FIRST)
    return series.path


def failing_at(nth: int, code: int, real: Callable[..., Any]) -> Callable[..., Any]:
    calls = itertools.count()

    def call(*arguments: Any, **options: Any) -> Any:
        if next(calls) == nth:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    return call


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("fsync", errno.ENOSPC),
        ("fsync", errno.EDQUOT),
        ("open", errno.EROFS),
        ("replace", errno.EACCES),
    ],
)
def test_the_system_refuses_at_any_call(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int
) -> None:
    outcomes = []
    for nth in itertools.count():
        series = Series.open(shutil.copytree(template, tmp_path / f"{nth}"))
        before = shape_on_disk(series.path)
        with monkeypatch.context() as patch:
            patch.setattr(os, function, failing_at(nth, code, getattr(os, function)))
            try:
                publish(series, "b", SECOND)
                break
            except StorageError as error:
                is_out = "committed" in str(error)
        outcomes.append(is_out)
        # What was committed is brought to its place as soon as the disk works again.
        after = Series.open(series.path)
        assert [release.label for release in after.releases()] == (["a", "b"] if is_out else ["a"])
        after.check()
        if not is_out:
            assert shape_on_disk(series.path) == before
            publish(after, "b", SECOND)
            after.check()
    assert outcomes
    assert outcomes == sorted(outcomes)


@pytest.mark.parametrize("folder", ["staging/0002", "ledger/0002"])
def test_a_folder_cannot_be_made(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    series = Series.open(shutil.copytree(template, tmp_path / "clinic"))
    before = shape_on_disk(series.path)
    mkdir = os.mkdir

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        if Path(path) == series.path / folder:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        mkdir(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", refuse)
        with pytest.raises(StorageError, match="no space left"):
            publish(series, "b", SECOND)
    assert shape_on_disk(series.path) == before
    publish(series, "b", SECOND)


# A limit of 0 stops the public files already, which the test writes itself.
@pytest.mark.parametrize("limit", [0, 64, 200, 400, 700, 1000, 4096, 8192, 16384])
def test_files_cannot_grow(template: Path, tmp_path: Path, limit: int) -> None:
    copy = shutil.copytree(template, tmp_path / "clinic")
    before = shape_on_disk(copy)
    assert crashing.exit_code_of(crashing.act_with_small_files, copy, limit) == (
        StorageError.exit_code if limit else 1
    )
    Series.open(copy).check()
    assert shape_on_disk(copy) == before
    publish(Series.open(copy), "b", SECOND)


def test_a_series_is_created_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nth in itertools.count():
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing_at(nth, errno.ENOSPC, os.fsync))
            try:
                new_series(tmp_path)
                break
            except StorageError:
                pass
        if list(tmp_path.iterdir()):
            break
    assert nth >= 5
    assert [path.name for path in tmp_path.iterdir()] == ["clinic"]
    Series.open(tmp_path / "clinic").check()


def test_the_message_says_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"no space left on device - .*clinic - free some space"),
        storage_errors(tmp_path / "clinic"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device", "secret name")
    with pytest.raises(StorageError, match="see to the disk"), storage_errors(tmp_path):
        raise OSError("without a number")
