"""A sample of ``make fuzz-web``."""

from __future__ import annotations

from web.fuzzing import campaign


def test_odd_requests_are_refused_in_order() -> None:
    statuses, failed = campaign(300, seed=7)
    assert not failed
    assert {200, 204, 404, 422} & statuses.keys() >= {200, 404, 422}
