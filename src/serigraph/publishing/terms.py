"""The terms of a release, the same on any engine: its policy, label and plan, its entry in the
ledger, and the notes for its publisher.

Two checks need the series or the form of the release. Are its people those of the series? An id
written in another way would be another person, with a separate budget. And which of its texts would
a spreadsheet run as formulas?
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from serigraph.engines import CohortTerms, Known, PeopleFacts, Plan
from serigraph.errors import AlreadyPublished, NotApproved, PolicyError, TableError
from serigraph.ledger import ReleaseDraft, ReleaseRecord, Series
from serigraph.ledger.release import AGAIN
from serigraph.model import Domain, ProtectedValue
from serigraph.policy import Policy, check_unchanged, read_policy
from serigraph.privacy.strategies import Strategy
from serigraph.privacy.thresholds import threshold_text
from serigraph.publishing.persistence import OVERRIDDEN
from serigraph.publishing.published import pair_of
from serigraph.publishing.records import record_shape
from serigraph.recoding.output import like_formulas
from serigraph.recoding.records import COLUMN
from serigraph.recoding.tables import COHORT, COUNT, GROUP, VALUE
from serigraph.records import WorstPair, worst_of
from serigraph.tables import ProtectedChoice
from serigraph.tables.addresses import name_of
from serigraph.tables.cells import counted

# Panels share far more people than this with earlier tables; after a change in how ids are written,
# hardly any. Anything between is rare, and the publisher is asked.
FEWEST_KNOWN = Fraction(1, 20)


def notes_on_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> tuple[str, ...]:
    """How many people of a later table the series knows, for the publisher to check."""
    if not releases:
        return ()
    new = people.present - known.present
    return (
        f"of {counted(people.present, 'person', 'people')} in the table, {known.present:,} "
        f"{'was' if known.present == 1 else 'were'} in the series before, and "
        f"{new:,} {'is' if new == 1 else 'are'} new",
    )


def check_new_people(
    releases: tuple[ReleaseRecord, ...], people: PeopleFacts, known: Known
) -> None:
    """Refuse a later release if the ledger knows hardly anybody in it.

    The people of the table are checked and, if an earlier release had a registry, those who are
    only in the registry: everybody in the first registry is new.
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
            "prefixes and pseudonyms; if the people are new, confirm it with --new-people "
            "(new_people=True in Python)",
            problems=problems,
        )


def check_other_table(releases: tuple[ReleaseRecord, ...], table_digest: str) -> None:
    """Refuse a table that is out already, until the publisher says that it is meant.

    It must be possible to publish it: otherwise every release would tell that its table differs
    from all earlier ones, and where nothing else has changed, that somebody else holds a value.
    """
    for release in releases:
        if release.is_of(table_digest):
            raise AlreadyPublished(
                "this table is out already",
                where=f"release {release.number}, {release.label}",
                remedy="give the table of the next release; if nothing has changed since, confirm "
                "it with --same-table (same_table=True in Python)",
            )


def recorded_digest(releases: tuple[ReleaseRecord, ...], table_digest: str) -> str:
    """The digest of a table as the catalog records it, where each is different."""
    is_again = any(release.is_of(table_digest) for release in releases)
    return f"{table_digest}{AGAIN}{len(releases) + 1}" if is_again else table_digest


def notes_on_formulas(policy: Policy, people: PeopleFacts, where: str) -> tuple[str, ...]:
    """What happens to texts that look like formulas in CSV files, as notes for the publisher.

    Raises ``TableError`` if there are any and the policy refuses them, and ``PolicyError`` if a
    column name, which cannot be quoted, looks like a formula.
    """
    output = policy.output
    if "csv" not in output.files:
        return ()
    columns = [*policy.quasi_identifiers, *policy.sensitive_columns, *policy.plain]
    if _number_of_formulas(columns) and output.formulas != "keep":
        raise PolicyError(
            "a spreadsheet would run the name of a column as a formula",
            where=where,
            remedy="rename it in the table and in the policy, or set formulas = "
            '"keep" in the section [output]',
        )
    texts = {domain.name: _texts_of(domain) for domain in people.domains}
    for name in policy.sensitive_columns:
        listed = people.value_list
        own = listed.of_column(name) if policy.has_several_columns else listed
        texts[name] = sorted({each.name for each in own.all_held})
    texts |= {name: list(found) for name, found in people.plain_texts.items()}
    found = {name: number for name, each in texts.items() if (number := _number_of_formulas(each))}
    if not found:
        return ()
    some = counted(sum(found.values()), "text begins", "texts begin")
    if output.formulas == "refuse":
        raise TableError(
            f"{some} like a formula, which a spreadsheet would run",
            where="CSV files of the release",
            remedy='correct the table, or set formulas = "quote" in the section [output] of the '
            "policy",
            problems=[f"column {name!r}: {counted(each, 'text')}" for name, each in found.items()],
        )
    if output.formulas == "keep":
        return (f"{some} like a formula, and a spreadsheet may run them from the CSV files",)
    return (f"{some} like a formula; the CSV files have an apostrophe before each",)


def _texts_of(domain: Domain) -> list[str]:
    if domain.is_scale:
        return []
    if domain.taxonomy is not None:
        return sorted({name for path in domain.taxonomy.paths for name in path})
    return [str(each) for each in domain.values.drop_nulls()]


def _number_of_formulas(texts: Sequence[str]) -> int:
    return len(like_formulas(texts))


_TOO_MUCH = 0.5  # of the quasi-identifiers' precision


def policy_path(series: Series) -> Path:
    """The policy file of a series."""
    return series.path / "policy.toml"


def policy_in_force(series: Series, releases: tuple[ReleaseRecord, ...]) -> Policy:
    """The policy in the file; refused if it breaks with that of earlier releases."""
    path = policy_path(series)
    policy = read_policy(path)
    if releases:
        check_unchanged(releases[-1].policy, policy, path.read_text(encoding="utf-8"), str(path))
        policy = policy.in_series(releases[-1].strategy)
    taken: tuple[str, ...] = (GROUP, COHORT) if policy.has_persisting_values else (GROUP,)
    records = [*policy.sensitive_columns, *policy.plain] if policy.shows_records else []
    taken += (COLUMN, VALUE, COUNT) if policy.shows_records else ()
    for name in taken if policy.output.form == "bucketised" else ():
        if name in records or (name in policy.quasi_identifiers and name in (GROUP, COHORT)):
            what = "quasi-identifier" if name in policy.quasi_identifiers else "column"
            raise PolicyError(
                f"a {what} is named {name!r}, like the {name} column of bucketised releases",
                where=str(path),
                remedy="rename the column in the table and in the policy",
            )
    return policy


def check_sign_off(policy: Policy, where: str) -> None:
    """Refuse to publish a table at once where others have to approve of the release first."""
    if policy.signing.approvals:
        raise NotApproved(
            f"the policy asks for {counted(policy.signing.approvals, 'approval')} before a release "
            "is published",
            where=where,
            remedy="make a draft of it with 'serigraph draft', let it be approved with 'serigraph "
            "approve', and publish it with 'serigraph publish --draft NAME'",
        )


def check_same_descriptions(people: PeopleFacts, policy: Policy) -> None:
    """Refuse people whom table and registry describe differently, where values persist and presence
    is hidden: a row that the registry does not have is that of somebody present."""
    is_hidden = policy.guarantee.adversary == "presence unknown"
    differing = people.differing_from_registry
    if differing and is_hidden and policy.has_persisting_values:
        raise TableError(
            f"{counted(differing, 'person', 'people')} of the table "
            f"{'has' if differing == 1 else 'have'} other quasi-identifiers than in the registry, "
            "and would be known to be in the table",
            where="table and registry",
            remedy="give both the same quasi-identifiers, as of the same day",
        )


def check_registry(
    releases: tuple[ReleaseRecord, ...], policy: Policy, *, has_registry: bool
) -> None:
    """Refuse a release with a registry after one without, or the other way round, where values
    persist: cohorts are kept in another way."""
    if not policy.has_persisting_values or not releases:
        return
    had_registry = bool(releases[-1].summary.get("has_registry"))
    if has_registry != had_registry and policy.guarantee.adversary == "presence unknown":
        raise TableError(
            "where values persist, all releases need a registry, or none",
            where=f"release {releases[-1].label} had {'one' if had_registry else 'none'}",
            remedy="give the registry with --registry"
            if had_registry
            else "publish without --registry, or start a new series",
        )


def default_label(table: Any, number: int) -> str:
    """The file name, with dashes for what a folder name cannot hold."""
    named = name_of(table).split(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", named).strip("_-") or f"release-{number}"


def plan_of(
    policy: Policy,
    strategy: Strategy,
    label: str,
    *,
    allow_suppression: bool,
    has_registry: bool,
) -> Plan:
    """The plan for the engine."""
    return Plan(
        label=label,
        strategy=strategy,
        form=policy.output.form,
        groups=policy.output.groups,
        method=policy.output.method,
        minimum_size=policy.guarantee.minimum_group_size,
        is_presence_known=policy.guarantee.adversary == "presence known",
        allows_suppression=allow_suppression,
        sensitive=next(iter(policy.sensitive_columns)),
        has_one_value=policy.has_one_value,
        records=record_shape(policy),
        clearance=policy.suppression.clearance,
        known_members=policy.guarantee.known_members,
        blind=policy.guarantee.is_blind,
        cohorts=_cohort_terms(policy, has_registry),
    )


def _cohort_terms(policy: Policy, has_registry: bool) -> CohortTerms | None:
    if not policy.has_persisting_values:
        return None
    return CohortTerms(
        size=policy.cohort_size,
        least=policy.least_cohort,
        may_depart=policy.guarantee.departures == "unrelated",
        has_registry=has_registry,
        has_one_value=policy.has_one_value,
        protect=lambda name: ProtectedValue(
            name,
            policy.threshold_of(name),
            tuple(policy.protected_classes.get(name, ())),
            policy.persistence_of(name),
        ),
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
    """The draft of the ledger entry."""
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
    """Advice if most of the precision is lost."""
    lost = sum(widths.values()) / max(len(widths), 1)
    if lost <= _TOO_MUCH or policy.output.form != "generalised":
        return ()
    is_presence_known = policy.guarantee.adversary == "presence known"
    smaller = [
        policy.strategy_for().gentler(),
        "" if is_presence_known else "use a registry with more people",
    ]
    return (
        f"{lost:.0%} of the precision is lost, because values are nearly as frequent as the "
        "guarantee allows; for the next release, "
        + ", or ".join(filter(None, ['choose form = "bucketised" in [output]', *smaller])),
    )


def withdrawals(values: Sequence[str]) -> tuple[str, ...]:
    """For the publisher only: values that the release does not show at all."""
    return tuple(
        f"value {value!r} is left out of this release entirely; no public file says so"
        for value in values
    )


def is_dated_back(earlier: tuple[ReleaseRecord, ...], published_at: datetime) -> bool:
    """Whether a release is dated before its predecessor: a clock was, or is, wrong."""
    return bool(earlier) and published_at < datetime.fromisoformat(earlier[-1].published_at)


def notes_on_dates(summary: Mapping[str, object]) -> tuple[str, ...]:
    """The note on a release that is dated back."""
    if not summary["is_dated_back"]:
        return ()
    return (
        "this release is dated before the previous one, so the clock was wrong for one of them; "
        "releases are ordered by number",
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
    overridden: Sequence[str],
) -> dict[str, object]:
    """The figures of a release, of how it was made, and of the series up to it; ``before`` is the
    worst pair of the series before it."""
    worst, output = worst_of((before, pair_of(figures["worst_in_release"]))), policy.output
    return {
        **figures,
        "worst_in_series": worst.to_json() if worst else None,
        "has_registry": has_registry,
        "people_in_registry": people.people - people.outside_registry if has_registry else None,
        "people_outside_registry": people.outside_registry,
        "people_differing_from_registry": people.differing_from_registry,
        "form": output.form,
        "form_of_groups": "regions" if output.form == "generalised" else output.groups,
        "method": output.method,
        **({"apart": True} if output.apart else {}),
        "strategy": strategy.describe(),
        "is_dated_back": is_dated_back,
        **({OVERRIDDEN: list(overridden)} if overridden else {}),
    }
