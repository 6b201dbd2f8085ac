"""How random cases are run: never against a clock, since kernels compile at their first use."""

from __future__ import annotations

from hypothesis import settings

unhurried = settings(deadline=None)


def about(number: int) -> settings:
    """Settings for so many cases, and five times as many in ``make test-thorough``."""
    share = settings.default.max_examples / 100
    return settings(deadline=None, max_examples=max(1, round(number * share)))
