"""Files that cannot grow: a clear error, nothing changed, and a retry that works."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from ledger import children
from ledger.builders import FIRST, SECOND, new_series, publish, shape_on_disk
from serigraph.errors import StorageError
from serigraph.ledger import Series, storage_errors


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = new_series(tmp_path_factory.mktemp("template"))
    publish(series, "a", FIRST)
    return series.path


# A limit of 0 stops the public files already, which the test writes itself.
@pytest.mark.parametrize("limit", [0, 64, 200, 400, 700, 1000, 4096, 8192, 16384])
def test_files_cannot_grow(template: Path, tmp_path: Path, limit: int) -> None:
    copy = shutil.copytree(template, tmp_path / "clinic")
    before = shape_on_disk(copy)
    assert children.exit_code_of(children.publish_with_small_files, copy, limit) == (
        StorageError.exit_code if limit else 1
    )
    Series.open(copy).check()
    assert shape_on_disk(copy) == before
    publish(Series.open(copy), "b", SECOND)


def test_the_message_says_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"no space left on device - .*clinic - free some space"),
        storage_errors(tmp_path / "clinic"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device", "secret name")
    with pytest.raises(StorageError, match="see to the disk"), storage_errors(tmp_path):
        raise OSError("without a number")
