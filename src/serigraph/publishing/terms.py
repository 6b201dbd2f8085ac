"""What is settled about a release before and after it is made, whichever engine makes it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from serigraph.engines import PeopleFacts, Plan
from serigraph.errors import PolicyError
from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series
from serigraph.policy import Policy, check_unchanged, read_policy
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing.figures import pair_of
from serigraph.recoding.tables import GROUP
from serigraph.records import WorstPair, worst_of
from serigraph.tables import ProtectedChoice

_TOO_MUCH = 0.5  # of the quasi-identifiers' precision


def policy_path(series: Series) -> Path:
    """Where the policy of a series is written."""
    return series.path / "policy.toml"


def policy_in_force(series: Series, releases: tuple[ReleaseRecord, ...]) -> Policy:
    """The policy as the file has it, if that is what the series was begun with."""
    path = policy_path(series)
    policy = read_policy(path)
    if releases:
        check_unchanged(releases[-1].policy, policy, path.read_text(encoding="utf-8"), str(path))
    if policy.output.form == "bucketised" and GROUP in policy.quasi_identifiers:
        raise PolicyError(
            f"a quasi-identifier is called {GROUP!r}, as the column that a bucketised release adds",
            where=str(path),
            remedy="rename the column in the table and in the policy",
        )
    return policy


def default_label(table: Any, number: int) -> str:
    """The name of the file, with a dash for whatever the name of a folder cannot hold."""
    named = Path(table).name.split(".")[0] if isinstance(table, str | os.PathLike) else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", named).strip("_-") or f"release-{number}"


def plan_of(policy: Policy, strategy: Strategy, label: str, allow_suppression: bool) -> Plan:
    """What the engine is asked for."""
    return Plan(
        label=label,
        strategy=strategy,
        form=policy.output.form,
        method=policy.output.method,
        minimum_size=policy.guarantee.minimum_group_size,
        is_presence_known=policy.guarantee.adversary == "presence known",
        allows_suppression=allow_suppression,
        sensitive=policy.sensitive.column,
        has_one_value=policy.sensitive.form == "single",
        clearance=policy.suppression.clearance,
    )


def draft_of(
    policy: Policy,
    strategy: Strategy,
    choice: ProtectedChoice,
    label: str,
    published_at: datetime,
    table_digest: str,
    summary: Mapping[str, object],
) -> ReleaseDraft:
    """What the ledger is told."""
    return ReleaseDraft(
        label=label,
        published_at=published_at,
        table_digest=table_digest,
        policy=policy.frozen(),
        protected=json.loads(choice.to_json()),
        threshold=threshold_text(policy.threshold),
        strategy=strategy.to_text(),
        adversary=policy.guarantee.adversary,
        summary=summary,
    )


def advice(widths: Mapping[str, float], policy: Policy) -> tuple[str, ...]:
    """What would help where most of the precision is gone."""
    lost = sum(widths.values()) / max(len(widths), 1)
    if lost <= _TOO_MUCH or policy.output.form != "generalised":
        return ()
    is_presence_known = policy.guarantee.adversary == "presence known"
    smaller = [
        policy.strategy_for().gentler(),
        "" if is_presence_known else "bring a registry with more people",
    ]
    return (
        f"{lost:.0%} of the precision is lost, because values are nearly as frequent as the "
        "guarantee allows; for the next release, "
        + ", or ".join(filter(None, ['choose form = "bucketised" in [output]', *smaller])),
    )


def withdrawals(values: Sequence[str]) -> tuple[str, ...]:
    """What only the publisher hears: values that the release does not show at all."""
    return tuple(
        f"value {value!r} is left out of this release altogether; no public file says so"
        for value in values
    )


def is_dated_back(earlier: tuple[ReleaseRecord, ...], published_at: datetime) -> bool:
    """Whether a release is dated before the one before it: a clock was, or is, wrong."""
    return bool(earlier) and published_at < datetime.fromisoformat(earlier[-1].published_at)


def notes_on_dates(summary: Mapping[str, object]) -> tuple[str, ...]:
    """What is told of a release that is dated back."""
    if not summary["is_dated_back"]:
        return ()
    return (
        "this release is dated before the one before it, so the clock was wrong for one of them; "
        "the order of the releases is that of their numbers",
    )


def summary_of(
    figures: Mapping[str, Any],
    before: WorstPair | None,
    people: PeopleFacts,
    *,
    has_registry: bool,
    strategy: Strategy,
    policy: Policy,
    is_dated_back: bool,
) -> dict[str, object]:
    """The figures of a release, with those of its making and of the series up to it; ``before`` is
    the worst pair of the series before it."""
    worst = worst_of((before, pair_of(figures["worst_in_release"])))
    return {
        **figures,
        "worst_in_series": worst.to_json() if worst else None,
        "has_registry": has_registry,
        "people_in_registry": people.people - people.outside_registry if has_registry else None,
        "people_outside_registry": people.outside_registry,
        "people_differing_from_registry": people.differing_from_registry,
        "form": policy.output.form,
        "method": policy.output.method,
        "strategy": strategy.describe(),
        "is_dated_back": is_dated_back,
    }
