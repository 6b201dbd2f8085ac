"""What all tests share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import settings

# A developer's runs look for new cases; a change is judged by the same cases whenever it is tried.
settings.register_profile("the same every time", derandomize=True)
# Where kernels run as plain Python, a hundred times as slow as compiled.
settings.register_profile("few", derandomize=True, max_examples=5)
settings.register_profile("many", max_examples=500)
if os.environ.get("CI"):
    settings.load_profile("the same every time")

SPARK = "tests/spark/"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each process takes whole files, and one of them all of Spark, where a session is slow."""
    from xdist.scheduler import LoadFileScheduling  # not there beside the stores' packages

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SPARK if nodeid.startswith(SPARK) else super()._split_scope(nodeid)

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark takes longest, so that it comes first: nothing else has to wait for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(SPARK))


class _Unsynced(sqlite3.Connection):
    """Never waits for the disk, whatever it is asked for."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        is_asked = statement.startswith("PRAGMA synchronous")
        return super().execute("PRAGMA synchronous = OFF" if is_asked else statement, *values)


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks() -> Iterator[None]:
    """A publish waits for the disk thirty times, ten of them in SQLite. Only a power cut would show
    the difference, and tests cut the power of other processes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # still fails on a file that is closed
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=_Unsynced))
        yield


@pytest.fixture
def values_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tables in which the same people hold the same values, where that is not the point."""
    monkeypatch.setattr("serigraph.publishing.publication.check_transient", lambda *_: None)
