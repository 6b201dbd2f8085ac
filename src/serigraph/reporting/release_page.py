"""The report of one release, arranged after the four clauses of ISO/IEC 27559."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import numpy as np

from serigraph.charts import Bar, share_chart
from serigraph.publishing import Unpublished
from serigraph.publishing.published import SingledOut, pair_of
from serigraph.publishing.terms import notes_on_dates
from serigraph.reporting.page import (
    PERSISTENT_VALUES,
    UNPROTECTED_VALUES,
    Page,
    Section,
    closeness_chart,
    closest,
    context_section,
    distribution_chart,
    exact,
    files_table,
    governance_facts,
    lowered,
    percent,
    singled_out_facts,
    singled_out_notes,
    size_chart,
    verdict,
    width_chart,
    width_fact,
)
from serigraph.reporting.risk import ReleaseRisk

_VALUES_SHOWN = 12
_AHEAD = 1024  # links that are looked ahead for the end of the budget


def release_page(release: Unpublished, risk: ReleaseRisk, files: Mapping[str, str]) -> Page:
    """What is told of a release, for whoever has to answer for it and whoever gets it."""
    figures: dict[str, Any] = dict(release.summary)
    return Page(
        title=f"Release {release.label}",
        subtitle=f"Release {release.number} of a series, published "
        f"{release.published_at.astimezone(UTC):%d %B %Y}",
        verdict=verdict(release.number, pair_of(figures["worst_in_series"])),
        holds=True,
        sections=[
            context_section(release.policy.publisher, release.policy.guarantee.adversary),
            _data(release, figures),
            Section(
                "Identifiability assessment and mitigation",
                parts=[
                    _measured(release, risk, figures),
                    _mitigated(release, risk, figures),
                    _residual(release, risk),
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
        ("Members of groups without a record", f"{absent:,}"),
    ]
    if figures["has_registry"]:
        facts.append(("People not in the registry", f"{figures['people_outside_registry']:,}"))
    return Section(
        "Data assessment",
        lead="Who is in the release, and what is protected in it.",
        facts=[
            *facts,
            ("Quasi-identifiers", ", ".join(policy.quasi_identifiers)),
            ("Sensitive column", policy.sensitive.column),
            ("Protected values in this release", f"{figures['protected_values']:,}"),
            ("Form", f"{figures['form']}, {figures['method']}"),
            ("Releases in the series so far", f"{release.number}"),
        ],
        notes=[f"{note[0].upper()}{note[1:]}." for note in notes_on_dates(figures)],
    )


def _measured(release: Unpublished, risk: ReleaseRisk, figures: Mapping[str, Any]) -> Section:
    labels = [*(each.label for each in release.earlier), release.label]
    so_far = [
        *(each.in_series for each in release.earlier_pairs),
        pair_of(figures["worst_in_series"]),
    ]
    touched = risk.touched
    notes = [
        "Pairs, mean and distribution are those of the people and values that this release "
        "touches, over all releases so far; people of earlier releases who are not in it count in "
        "the worst of the series."
    ]
    worst = (pair_of(figures["worst_in_release"]), pair_of(figures["worst_in_series"]))
    notes += lowered(worst, release.policy.frozen())
    if touched.is_sample:
        notes.append(
            f"Mean and distribution are those of a sample of {touched.people:,} of "
            f"{touched.of_people:,} members."
        )
    return Section(
        "Measured",
        lead="The probability that an adversary who has all releases links a person to a protected "
        "value in any of them. Before publication a verifier that shares no code with the forming "
        "of groups recomputed every pair of a person and a value that this release touches.",
        facts=[
            ("At worst, in the whole series", closest(pair_of(figures["worst_in_series"]))),
            ("At worst, of the pairs here", closest(pair_of(figures["worst_in_release"]))),
            ("Mean, of the pairs here", f"{touched.mean:.4f}"),
            ("Largest in this release alone", exact(risk.alone.as_promised)),
            ("Pairs checked", f"{figures['pairs_checked']:,}"),
            (
                "of these decided in exact fractions",
                f"{figures['pairs_decided_in_fractions']:,}",
            ),
        ],
        charts=[
            closeness_chart(labels, so_far),
            distribution_chart(touched.by_share_of_threshold, is_sample=touched.is_sample),
        ],
        notes=notes,
    )


def _mitigated(release: Unpublished, risk: ReleaseRisk, figures: Mapping[str, Any]) -> Section:
    facts = [
        ("Strategy", release.strategy.describe()),
        ("Groups", f"{figures['groups']:,}"),
        ("Groups with a protected value", f"{figures['groups_with_protected_value']:,}"),
        ("Their mean size", f"{figures['mean_size_with_protected_value']:.1f} people"),
        ("Smallest group allowed", f"{release.policy.guarantee.minimum_group_size:,}"),
        ("Holders left out", f"{figures['suppressed_values']:,}"),
        width_fact(figures["mean_normalised_width"], figures["form"]),
    ]
    notes = []
    if risk.query_error is None:
        notes.append("Query errors were not measured while this release was made.")
    else:
        error = risk.query_error
        facts += [
            ("Query error, median", percent(error.median)),
            ("Query error, mean", percent(error.mean)),
            ("Query error, 95th percentile", percent(error.percentile_95)),
        ]
        notes.append(
            f"Query errors are relative errors of {error.queries:,} random counts over ranges of "
            f"{error.columns} quasi-identifiers and the sensitive column, against the table as it "
            "was before suppression."
        )
    if figures["suppressed_values"]:
        left_out = ", ".join(f"{name} {number:,}" for name, number in figures["suppressed"].items())
        notes.append(
            f"Holders left out, by value: {left_out}. These values were too frequent to fit under "
            "the guarantee. Who of the holders is left out was drawn at random, by counts alone, "
            "and what their absence tells is charged to everybody."
        )
    return Section(
        "Mitigated",
        lead="People share groups that are large enough for their histories; within a group nobody "
        "can tell who holds which value.",
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
    shown = int(np.count_nonzero(holders))  # to name another would tell that somebody holds it
    order = np.argsort(-holders, kind="stable")[: min(shown, _VALUES_SHOWN)].tolist()
    people = max(figures["people"], 1)
    bars = []
    for number in order:
        value = risk.protected[number]
        target = release.strategy.preview(value.threshold, 1)[0]
        bars.append(
            Bar(
                f"{value.name} (target {target:.1f})",
                holders[number] / people,
                allowed=1 / target,
            )
        )
    left = shown - len(bars)
    return share_chart(
        "Share of people with each protected value",
        bars,
        note="red: the share that the target allows" + (f"; {left:,} rarer values" if left else ""),
    )


def _residual(release: Unpublished, risk: ReleaseRisk) -> Section:
    singled = SingledOut.of(release.summary)
    return Section(
        "Residual risk",
        lead="What the promise does not cover, with figures where there are any. The figures are "
        "for this release alone; serigraph audit gives them over the series.",
        facts=[
            ("Largest, if presence were known", exact(risk.alone.presence_known)),
            (
                "Largest, if one member of each group were known",
                exact(risk.alone.one_member_known),
            ),
            *singled_out_facts(singled),
        ],
        notes=[
            *singled_out_notes(singled),
            PERSISTENT_VALUES,
            UNPROTECTED_VALUES,
            f"The promise is per value, with a threshold of {release.policy.threshold}: that a "
            "person has some protected value may be more probable, unless a class of values is "
            "protected.",
        ],
    )


def _governance(release: Unpublished, files: Mapping[str, str]) -> Section:
    ahead = release.strategy.preview(release.policy.threshold, _AHEAD)
    planned = sum(1 for ratio in ahead if ratio < float("inf"))
    plan = f"planned for {planned:,} links of a person and a value"
    if planned == len(ahead):
        plan = "without an end; groups grow with every link"
    return Section(
        "Governance",
        lead="Who answers for the series, and how it goes on. Every further release is checked "
        "against the whole series before it is published.",
        facts=[
            *governance_facts(release.policy.publisher),
            ("Budget", plan),
            ("Policy", "fixed for the series; see certificate.json"),
        ],
        tables=[files_table(files)],
        notes=[
            "The publisher, who has the ledger, can check this release again: serigraph verify "
            "certificate.json.",
            "certificate.json has the digest of this report; the ledger has the digests of both.",
        ],
    )
