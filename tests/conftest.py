"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A developer's runs look for new cases; a change is judged by the same cases whenever it is tried.
settings.register_profile("the same every time", derandomize=True)
# Where kernels run as plain Python, a hundred times as slow as compiled.
settings.register_profile("few", derandomize=True, max_examples=5)
if os.environ.get("CI"):
    settings.load_profile("the same every time")


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks() -> Iterator[None]:
    """A publish waits for the disk 19 times. Only a power cut would show the difference, and tests
    cut the power of other processes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # still fails on a file that is closed
        yield


@pytest.fixture
def values_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tables in which the same people hold the same values, where that is not the point."""
    monkeypatch.setattr("serigraph.publishing.publication.check_transient", lambda *_: None)
