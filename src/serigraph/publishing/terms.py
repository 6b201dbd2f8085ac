"""What is settled about a release before and after it is made, on any engine: its policy, its
label, its plan, what the ledger and the publisher hear of it.

Two checks need the series or the form of the release. Are its people those of the series? An id
that is written in another way is another person, with a budget of its own. And which of its texts
would spreadsheets run as formulas?
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.engines import Known, PeopleFacts, Plan
from serigraph.errors import PolicyError, TableError
from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series
from serigraph.model import Domain
from serigraph.policy import Policy, check_unchanged, read_policy
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing.published import pair_of
from serigraph.recoding.output import is_formula
from serigraph.recoding.tables import GROUP
from serigraph.records import WorstPair, worst_of
from serigraph.tables import ProtectedChoice
from serigraph.tables.cells import counted

# Panels that share people with earlier tables share far more than this, and after a change of the
# form of ids nobody is known, but for a few by chance. What lies between is rare, and asked about.
FEWEST_KNOWN = Fraction(1, 20)


def notes_on_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> tuple[str, ...]:
    """How many people of a later table are known to the series, for the publisher to compare with
    what they expect."""
    if not releases:
        return ()
    new = people.present - known.present
    return (
        f"of {counted(people.present, 'person', 'people')} in the table {known.present:,} "
        f"{'was' if known.present == 1 else 'were'} in the series before, and "
        f"{new:,} {'is' if new == 1 else 'are'} new to it",
    )


def check_new_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> None:
    """Refuse a later release of which the ledger knows hardly anybody.

    The people of the table count, and apart from them those that only the registry has, if an
    earlier release came with a registry: without one, everybody in the first registry is new.
    """
    if not releases:
        return
    asked = {"the table": (known.present, people.present)}
    if any(release.summary.get("has_registry") for release in releases):
        asked["the registry"] = (known.absent, people.people - people.present)
    problems = [
        f"{source}: {found:,} of {counted(all_of_it, 'person', 'people')} "
        f"{'is' if found == 1 else 'are'} known to the series"
        for source, (found, all_of_it) in asked.items()
        if found < FEWEST_KNOWN * all_of_it
    ]
    if problems:
        raise TableError(
            "hardly anybody is known from earlier releases",
            where="id column",
            remedy=f"write the ids as in release {releases[-1].label}, with the same zeros, "
            "prefixes and pseudonyms; if the people are new, say so: --new-people, or "
            "new_people=True in Python",
            problems=problems,
        )


def notes_on_formulas(policy: Policy, people: PeopleFacts, where: str) -> tuple[str, ...]:
    """What becomes of such texts in CSV files, for the publisher to know.

    Raises ``TableError`` if there are some and the policy refuses them, and ``PolicyError`` if a
    column has such a name, which cannot be quoted.
    """
    output = policy.output
    if "csv" not in output.files:
        return ()
    columns = [*policy.quasi_identifiers, policy.sensitive.column]
    if _number_of_formulas(columns) and output.formulas != "keep":
        raise PolicyError(
            "a column has a name that spreadsheets would run as a formula",
            where=where,
            remedy="rename it in the table and in the policy, or set formulas = "
            '"keep" in the section [output]',
        )
    texts = {domain.name: _texts_of(domain) for domain in people.domains}
    texts[policy.sensitive.column] = sorted({each.name for each in people.value_list.all_held})
    found = {name: number for name, each in texts.items() if (number := _number_of_formulas(each))}
    if not found:
        return ()
    some = counted(sum(found.values()), "text begins", "texts begin")
    if output.formulas == "refuse":
        raise TableError(
            f"{some} as formulas do, which spreadsheets would run",
            where="CSV files of the release",
            remedy='correct the table, or set formulas = "quote" in the section [output] of the '
            "policy",
            problems=[f"column {name!r}: {counted(each, 'text')}" for name, each in found.items()],
        )
    if output.formulas == "keep":
        return (f"{some} as formulas do, and spreadsheets may run them from the CSV files",)
    return (f"{some} as formulas do; CSV files have an apostrophe before each",)


def _texts_of(domain: Domain) -> list[str]:
    if domain.is_scale:
        return []
    if domain.taxonomy is not None:
        return sorted({name for path in domain.taxonomy.paths for name in path})
    return [str(each) for each in domain.values.drop_nulls()]


def _number_of_formulas(texts: Sequence[str]) -> int:
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return int(frame.select(is_formula(pl.col("text")).sum()).item())


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
