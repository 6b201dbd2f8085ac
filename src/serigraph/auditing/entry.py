"""One entry point for both kinds of audit."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast, get_args

from serigraph.arguments import names, refuse_name, several, whole
from serigraph.auditing.auditor import Auditing, ThisMachine
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
    releases: Any = (),
    policy: str | Path | Policy | None = None,
    raw: Any = (),
    registry: Any = None,
    tolerate: Tolerated | Collection[Tolerated] = (),
    known_members: int | str = 1,
    engine: Auditing = ThisMachine(),  # noqa: B008 - a frozen record without fields
) -> Audit:
    """Audit a series, or releases of any tool; see `audit_series` and `audit_releases`.

    ``releases`` and ``raw`` are one or several.
    """
    refuse_name(engine)
    releases, raw = several(releases), several(raw)
    known = whole(known_members, "known_members", least=0)
    if releases and not isinstance(engine, ThisMachine):
        raise InputRefused(
            "releases of other tools are audited on one machine",
            remedy="omit engine",
        )
    if series is not None and not releases:
        return audit_series(series, raw=raw, known_members=known, engine=engine).audit
    if series is None and releases and policy is not None:
        return audit_releases(
            releases,
            policy,
            raw=raw,
            registry=registry,
            tolerate=_tolerated(tolerate),
            known_members=known,
        ).audit
    raise InputRefused(
        "an audit needs either a series, or releases and a policy",
        remedy="give the folder of a series, or releases and policy",
    )


def _tolerated(given: Tolerated | Collection[Tolerated]) -> tuple[Tolerated, ...]:
    known, found = get_args(Tolerated), names(given, "tolerate")
    if unknown := [each for each in found if each not in known]:
        raise InputRefused(
            f"{unknown[0]!r} cannot be tolerated",
            where="tolerate",
            remedy=f"use one of: {', '.join(known)}",
        )
    return cast(tuple[Tolerated, ...], found)
