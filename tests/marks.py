"""Cases that are a study, not a test: `make test-thorough` runs them, `make test` a sample."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*values: Any) -> Any:
    """A case of ``pytest.mark.parametrize`` for ``make test-thorough``."""
    return pytest.param(*values, marks=pytest.mark.thorough)
