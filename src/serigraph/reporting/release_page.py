"""The report of one release, ordered by the four clauses of ISO/IEC 27559."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from fractions import Fraction
from typing import Any

import numpy as np

from serigraph.charts import Bar, share_chart
from serigraph.publishing import Unpublished
from serigraph.publishing.published import SingledOut, pair_of
from serigraph.publishing.records import assumptions, facts_on_plain
from serigraph.publishing.terms import notes_on_dates
from serigraph.reporting.certificate import AttacksRan
from serigraph.reporting.page import (
    ALIKE,
    ATTACKS_ARE_PRIVATE,
    UNPROTECTED_VALUES,
    Page,
    Section,
    Table,
    closest,
    column_facts,
    context_section,
    exact,
    files_table,
    governance_facts,
    holds,
    lowered,
    percent,
    persistence_notes,
    singled_out_facts,
    singled_out_notes,
    size_chart,
    verdict,
    width_chart,
    width_fact,
)
from serigraph.reporting.risk import ReleaseRisk
from serigraph.risk_charts import closeness_chart, distribution_chart

_VALUES_SHOWN = 12
_BLIND = "blind: where groups end does not depend on which of their members hold a value"
_AHEAD = 1024  # exposures to look ahead for the end of the budget


def release_page(
    release: Unpublished, risk: ReleaseRisk, attacks: AttacksRan, files: Mapping[str, str]
) -> Page:
    """The report page, for those who answer for a release and those who receive it."""
    figures: dict[str, Any] = dict(release.summary)
    known = release.policy.guarantee.known_members
    return Page(
        title=f"Release {release.label}",
        subtitle=f"Release {release.number} of a series, published "
        f"{release.published_at.astimezone(UTC):%d %B %Y}",
        verdict=verdict(
            release.number, pair_of(figures["worst_in_series"]), release.assumption, known
        ),
        holds=holds(release.assumption),
        sections=[
            context_section(
                release.policy.publisher,
                release.policy.guarantee.adversary,
                release.assumption,
                known,
            ),
            _data(release, figures),
            Section(
                "Identifiability assessment and mitigation",
                parts=[
                    _measured(release, risk, figures),
                    _mitigated(release, risk, figures),
                    _residual(release, risk, attacks),
                ],
            ),
            _governance(release, files),
        ],
    )


def _data(release: Unpublished, figures: Mapping[str, Any]) -> Section:
    policy = release.policy
    absent = figures["people"] - figures["present"]
    facts = [
        ("People with a record", f"{figures['present']:,}"),
        ("Members without a record", f"{absent:,}"),
    ]
    if figures["has_registry"]:
        facts.append(("People not in the registry", f"{figures['people_outside_registry']:,}"))
    return Section(
        "Data assessment",
        lead="Who is in the release, and what is protected in it.",
        facts=[
            *facts,
            ("Quasi-identifiers", ", ".join(policy.quasi_identifiers)),
            *column_facts(list(policy.sensitive_columns), list(policy.plain)),
            *facts_on_plain(figures),
            ("Protected values in this release", f"{figures['protected_values']:,}"),
            ("Form", _form_of(figures)),
            ("Releases in the series so far", f"{release.number}"),
        ],
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_dates(figures)),
            *assumptions(policy, figures),
        ],
    )


def _measured(release: Unpublished, risk: ReleaseRisk, figures: Mapping[str, Any]) -> Section:
    labels = [*(each.label for each in release.earlier), release.label]
    so_far = [
        *(each.in_series for each in release.earlier_pairs),
        pair_of(figures["worst_in_series"]),
    ]
    touched = risk.touched
    notes = [
        "Pairs, mean and distribution cover the people and values in this release, over all "
        "releases so far. The worst of the series also covers people of earlier releases."
    ]
    if risk.classes:
        notes.append(ALIKE)
    worst = (pair_of(figures["worst_in_release"]), pair_of(figures["worst_in_series"]))
    notes += lowered(worst, release.policy.frozen())
    if touched.is_sample:
        notes.append(
            f"Mean and distribution come from a sample of {touched.people:,} of "
            f"{touched.of_people:,} members."
        )
    return Section(
        "Measured",
        lead="The probability that an adversary who has all releases links a person to a protected "
        "value in any of them. Before publication, every pair in this release was recomputed by a "
        "verifier that shares no code with the grouping.",
        facts=[
            ("Worst in the whole series", closest(pair_of(figures["worst_in_series"]))),
            ("Worst of the pairs here", closest(pair_of(figures["worst_in_release"]))),
            ("Mean of the pairs here", f"{touched.mean:.4f}"),
            ("Largest in this release alone", exact(risk.alone.as_promised)),
            ("Pairs checked", f"{figures['pairs_checked']:,}"),
            (
                "Decided in exact fractions",
                f"{figures['pairs_decided_in_fractions']:,}",
            ),
        ],
        charts=[
            closeness_chart(labels, so_far),
            distribution_chart(touched.by_share_of_threshold, is_sample=touched.is_sample),
        ],
        tables=_over_time(release, risk),
        notes=notes,
    )


def _over_time(release: Unpublished, risk: ReleaseRisk) -> list[Table]:
    """Every value that was shown, what is assumed of it, and the classes of those that persist;
    nothing if the policy does not say it of any value."""
    if not release.policy.stated_persistence:
        return []
    held = zip(risk.protected, risk.holders, strict=True)
    rows = {
        value.name: [value.name, value.persistence, str(value.threshold), "", ""]
        for value, holders in held
        if holders and not value.persists  # naming another would reveal that somebody holds it
    }
    for each in risk.classes:
        facts = [each.persistence, str(each.threshold), f"{each.classes:,}", exact(each.largest)]
        rows[each.value] = [each.value, *facts]
    columns = ["Value", "Over time", "Threshold", "Classes with a holder", "Largest share"]
    return [Table(columns, [rows[name] for name in sorted(rows)])]


def _cohort_facts(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "cohorts" not in figures:
        return []
    facts = [
        ("Cohorts", f"{figures['cohorts']:,}"),
        ("Mean size of a cohort", f"{figures['mean_cohort_size']:.1f} people"),
        ("People waiting for a cohort", f"{figures['people_waiting']:,}"),
        ("People left out for good", f"{figures['people_retired']:,}"),
    ]
    if figures["people_leaving"]:
        facts.append(("People published for the last time", f"{figures['people_leaving']:,}"))
    if figures["records_withheld"]:
        facts.append(("Records withheld", f"{figures['records_withheld']:,}"))
    return facts


def _form_of(figures: Mapping[str, Any]) -> str:
    """How the release shows its groups, and how these were formed."""
    groups = f", groups: {figures['form_of_groups']}" if figures["form"] == "bucketised" else ""
    return f"{figures['form']}{groups}, {figures['method']}"


def _mitigated(release: Unpublished, risk: ReleaseRisk, figures: Mapping[str, Any]) -> Section:
    assumption = release.assumption
    left_out = "Holders of transient values left out" if risk.classes else "Holders left out"
    facts = [
        *([("Strategy", release.strategy.describe())] if assumption.has_transient else []),
        ("Groups", f"{figures['groups']:,}"),
        ("Groups with a protected value", f"{figures['groups_with_protected_value']:,}"),
        ("Mean size of these", f"{figures['mean_size_with_protected_value']:.1f} people"),
        ("Smallest group allowed", f"{release.policy.guarantee.minimum_group_size:,}"),
        *([("Cuts", _BLIND)] if release.policy.guarantee.is_blind else []),
        *_cohort_facts(figures),
        *([(left_out, f"{figures['suppressed_values']:,}")] if assumption.has_transient else []),
        width_fact(figures["mean_normalised_width"], figures["form"]),
    ]
    notes = []
    if figures["suppressed_values"]:
        by_value = ", ".join(f"{name} {number:,}" for name, number in figures["suppressed"].items())
        notes.append(
            f"{left_out}, by value: {by_value}. These values were too frequent for the "
            "guarantee. The holders were drawn at random, by counts alone, and what their absence "
            "reveals is charged to everybody."
        )
    return Section(
        "Mitigated",
        lead="Each person's group is large enough for all exposures so far; within a group, "
        "nobody can tell who holds which value."
        if "cohorts" not in figures
        else "People stay in their cohorts, which were formed without looking at values; within a "
        "group, nobody can tell who holds which value."
        if assumption.hides_presence
        else "A value that persists is shown once: the people of its group are a cohort, and are "
        "not in any later release.",
        facts=facts,
        charts=[
            size_chart(risk.sizes),
            width_chart(figures["normalised_widths"], figures["form"]),
            _values(release, risk),
        ],
        notes=notes,
    )


def _values(release: Unpublished, risk: ReleaseRisk) -> str:
    """The commonest protected values, each with the share that its target allows."""
    figures: dict[str, Any] = dict(release.summary)
    holders = np.array(risk.holders, dtype=np.int64)
    shown = int(np.count_nonzero(holders))  # naming another would reveal that somebody holds it
    order = np.argsort(-holders, kind="stable")[: min(shown, _VALUES_SHOWN)].tolist()
    people = max(figures["people"], 1)
    bars = []
    for number in order:
        value = risk.protected[number]
        if value.persists:
            share = f"{value.name} ({value.persistence})"
            bars.append(Bar(share, holders[number] / people, allowed=float(value.threshold)))
            continue
        target = release.strategy.preview(value.threshold, 1)[0]
        bars.append(
            Bar(
                f"{value.name} (target {target:.1f})",
                holders[number] / people,
                allowed=max(people - release.policy.guarantee.known_members, 0) / people / target,
            )
        )
    left = shown - len(bars)
    return share_chart(
        "Share of people with each protected value",
        bars,
        note=f"red: the share that the {_limit(release)} allows"
        + (f"; {left:,} rarer values" if left else ""),
    )


def _limit(release: Unpublished) -> str:
    assumption = release.assumption
    if not assumption.has_persisting:
        return "target"
    return "target or the threshold" if assumption.has_transient else "threshold"


def _residual(release: Unpublished, risk: ReleaseRisk, attacks: AttacksRan) -> Section:
    singled = SingledOut.of(release.summary)
    known = release.policy.guarantee.known_members
    return Section(
        "Residual risk",
        lead="What the promise does not cover, with figures where available. They are for this "
        "release alone; serigraph audit gives them for the series.",
        facts=[
            *_if_presence_were_known(release, risk),
            (
                f"Largest, if one {'more ' if known else ''}member of each group were known",
                exact(risk.alone.one_more_known),
            ),
            *singled_out_facts(singled),
            *_attacked(attacks),
        ],
        notes=[
            *singled_out_notes(singled),
            *persistence_notes(release.assumption),
            UNPROTECTED_VALUES,
            ATTACKS_ARE_PRIVATE,
            f"The promise is per value, with a threshold of {release.policy.threshold}. That a "
            "person holds one of several protected values may be more probable, unless they are "
            "protected as a class.",
        ],
    )


def _attacked(attacks: AttacksRan) -> list[tuple[str, str]]:
    """Which attacks ran, and when they would have refused the release."""
    share, limit = Fraction(attacks.share_of_people), attacks.highest_lift
    on = "everybody" if share == 1 else f"{percent(float(share))} of the people, drawn by lot,"
    return [
        (
            "Attacked before publication",
            f"{'; '.join(attacks.names)}: on {on} and at most {attacks.most_values} values",
        ),
        (
            "Refused if an attack is right",
            "(no limit was set)"
            if limit is None
            else f"surely more than {limit:g} times as often as claimed",
        ),
    ]


def _if_presence_were_known(release: Unpublished, risk: ReleaseRisk) -> list[tuple[str, str]]:
    """Nothing where values persist without a registry: presence is taken as known anyway."""
    assumption = release.assumption
    if assumption.has_persisting and not assumption.hides_presence:
        return []
    return [("Largest, if presence were known", exact(risk.alone.presence_known))]


def _governance(release: Unpublished, files: Mapping[str, str]) -> Section:
    ahead = release.strategy.preview(release.policy.threshold, _AHEAD)
    planned = sum(1 for ratio in ahead if ratio < float("inf"))
    plan = f"planned for {planned:,} exposures of a person to a value"
    if planned == len(ahead):
        plan = "unlimited; groups grow with every exposure"
    return Section(
        "Governance",
        lead="Who answers for the series, and how it continues. Every further release is checked "
        "against the whole series before publication.",
        facts=[
            *governance_facts(release.policy.publisher),
            *([("Budget", plan)] if release.assumption.has_transient else []),
            ("Policy", "fixed for the series; see certificate.json"),
        ],
        tables=[files_table(files)],
        notes=[
            "The publisher, who keeps the ledger, can recheck this release with serigraph verify "
            "certificate.json.",
            "certificate.json has the digest of this report; the ledger has the digests of both.",
        ],
    )
