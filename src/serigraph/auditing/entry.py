"""One way in for both kinds of audit."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from serigraph.auditing.from_releases import Tolerated
from serigraph.auditing.releases import audit_releases
from serigraph.auditing.result import Audit
from serigraph.auditing.series import audit_series
from serigraph.engines import Engine
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
    engine: Engine = "local",
    master: str = "",
    spark_settings: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a series, or releases that any tool made; see `audit_series` and `audit_releases`."""
    if engine == "spark" and releases:
        raise InputRefused(
            "releases of other tools are audited on one machine",
            remedy="leave the engine out",
        )
    if series is not None and not releases:
        return audit_series(
            series,
            raw=raw,
            known_members=known_members,
            engine=engine,
            master=master,
            spark_settings=spark_settings,
        ).audit
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
        "an audit is of a series, or of releases with a policy",
        remedy="give the folder of a series, or releases and policy",
    )
