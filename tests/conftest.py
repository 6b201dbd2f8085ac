"""What all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A developer's runs look for new cases; a change is judged by the same cases whenever it is tried.
settings.register_profile("the same every time", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("the same every time")


@pytest.fixture
def values_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tables in which the same people hold the same values, where that is not the point."""
    monkeypatch.setattr("serigraph.publishing.publication.check_transient", lambda *_: None)
