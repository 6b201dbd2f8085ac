"""One entry point for both kinds of audit."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from serigraph.auditing.auditor import Auditing, ThisMachine, refuse_name
from serigraph.auditing.from_releases import Tolerated
from serigraph.auditing.releases import audit_releases
from serigraph.auditing.result import Audit
from serigraph.auditing.series import audit_series
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.policy import Policy


def audit(
    series: str | os.PathLike[str] | Series | None = None,
    *,
    releases: Sequence[Any] = (),
    policy: str | Path | Policy | None = None,
    raw: Sequence[Any] = (),
    registry: Any = None,
    tolerate: Collection[Tolerated] = (),
    known_members: int = 1,
    engine: Auditing = ThisMachine(),  # noqa: B008 - a frozen record without fields
) -> Audit:
    """Audit a series, or releases of any tool; see `audit_series` and `audit_releases`."""
    refuse_name(engine)
    if releases and not isinstance(engine, ThisMachine):
        raise InputRefused(
            "releases of other tools are audited on one machine",
            remedy="omit engine",
        )
    if series is not None and not releases:
        return audit_series(series, raw=raw, known_members=known_members, engine=engine).audit
    if series is None and releases and policy is not None:
        return audit_releases(
            releases,
            policy,
            raw=raw,
            registry=registry,
            tolerate=tolerate,
            known_members=known_members,
        ).audit
    raise InputRefused(
        "an audit needs either a series, or releases and a policy",
        remedy="give the folder of a series, or releases and policy",
    )
