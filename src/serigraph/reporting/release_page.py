"""The report of one release, under the headings of ISO/IEC 27559."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from fractions import Fraction
from typing import Any

import numpy as np

from serigraph.charts import Bar, share_chart
from serigraph.publishing import Unpublished
from serigraph.reporting.page import Page, Section
from serigraph.reporting.risk import ReleaseRisk
from serigraph.reporting.wording import (
    distribution_chart,
    exact,
    files_table,
    loss_chart,
    percent,
    probability_chart,
    size_chart,
    threat_section,
    verdict,
)

_VALUES_SHOWN = 12


def release_page(release: Unpublished, risk: ReleaseRisk, files: Mapping[str, str]) -> Page:
    """What is told of a release, for whoever has to answer for it and whoever gets it."""
    figures: dict[str, Any] = dict(release.summary)
    return Page(
        title=f"Release {release.label}",
        subtitle=f"Release {release.number} of a series, published "
        f"{release.published_at.astimezone(UTC):%d %B %Y}",
        verdict=verdict(release.number, risk.largest, release.policy.frozen()),
        holds=True,
        sections=[
            _context(release, figures),
            threat_section(release.policy.guarantee.adversary, release.policy.frozen()),
            _measured(release, risk),
            _treated(release, risk, figures),
            _residual(release, risk),
            _again(release, files),
        ],
    )


def _context(release: Unpublished, figures: Mapping[str, Any]) -> Section:
    policy = release.policy
    absent = figures["people"] - figures["present"]
    return Section(
        "Context",
        lead="Who is in the release, and what is protected in it.",
        facts=[
            ("People with a record", f"{figures['present']:,}"),
            ("Absent members from the registry", f"{absent:,}"),
            ("People not in the registry", f"{figures['people_outside_registry']:,}"),
            ("Sensitive column", policy.sensitive.column),
            ("Protected values in this release", f"{figures['protected_values']:,}"),
            ("Form", f"{figures['form']}, {figures['method']}"),
            ("Releases in the series so far", f"{release.number}"),
        ],
    )


def _measured(release: Unpublished, risk: ReleaseRisk) -> Section:
    earlier = release.earlier
    largest = [Fraction(each.summary["largest_probability"]) for each in earlier]
    labels = [*(each.label for each in earlier), release.label]
    threshold = release.policy.threshold
    sampled = (
        f"Mean and distribution are those of a sample of {risk.over_series.people:,} people."
        if risk.is_sample
        else "All pairs of the people in this release are counted."
    )
    own = {str(value) for value in release.policy.protected.thresholds.values()}
    notes = [sampled]
    if own:
        notes.append(
            "Some values have a threshold of their own; the largest probability may belong to one "
            "of them, and each was compared with its own."
        )
    return Section(
        "Risk measured",
        lead="The probability that an adversary who has all releases links a person to a protected "
        "value in any of them. Every pair of a person and a value was recomputed independently "
        "before publication.",
        facts=[
            ("Largest, over all releases", exact(risk.largest)),
            ("Mean, over all releases", f"{risk.over_series.mean:.4f}"),
            ("Largest in this release alone", exact(risk.alone.as_promised)),
            ("Threshold", exact(threshold)),
            ("Pairs checked", f"{release.summary['pairs_checked']:,}"),
            (
                "of these decided in exact fractions",
                f"{release.summary['pairs_decided_in_fractions']:,}",
            ),
        ],
        charts=[
            probability_chart(labels, [*largest, risk.largest], threshold),
            distribution_chart(risk.over_series, is_sample=risk.is_sample),
        ],
        notes=notes,
    )


def _treated(release: Unpublished, risk: ReleaseRisk, figures: Mapping[str, Any]) -> Section:
    facts = [
        ("Strategy", release.strategy.describe()),
        ("Groups", f"{figures['groups']:,}"),
        ("Groups with a protected value", f"{figures['groups_with_protected_value']:,}"),
        ("Their mean size", f"{figures['mean_size_with_protected_value']:.1f} people"),
        ("Smallest group allowed", f"{release.policy.guarantee.minimum_group_size:,}"),
        ("Values suppressed", f"{figures['suppressed_values']:,}"),
        ("People left out", f"{figures['people_left_out']:,}"),
        ("Precision lost, mean of the columns", percent(figures["mean_normalised_width"])),
    ]
    notes = []
    if risk.query_error is None:
        notes.append("Query errors were not measured on the way: the release is large.")
    else:
        error = risk.query_error
        facts += [
            ("Query error, median", percent(error.median)),
            ("Query error, mean", percent(error.mean)),
            ("Query error, 95th percentile", percent(error.percentile_95)),
        ]
        notes.append(
            f"Query errors are relative errors of {error.queries:,} random counts over ranges of "
            "two quasi-identifiers and the sensitive column."
        )
    if figures["suppressed_values"]:
        notes.append(
            "Suppressed values did not fit under the guarantee in any grouping that was found. "
            "Who of the holders lost a value was chosen at random."
        )
    return Section(
        "Risk treated",
        lead="People share groups that are large enough for their histories; within a group nobody "
        "can tell who holds which value.",
        facts=facts,
        charts=[
            size_chart(risk.sizes),
            loss_chart(figures["normalised_widths"]),
            _values(release, risk),
        ],
        notes=notes,
    )


def _values(release: Unpublished, risk: ReleaseRisk) -> str:
    """The commonest protected values, each with the share that its target allows."""
    figures: dict[str, Any] = dict(release.summary)
    holders = np.array(risk.holders, dtype=np.int64)
    order = np.argsort(-holders, kind="stable")[:_VALUES_SHOWN].tolist()
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
    left = len(risk.protected) - len(bars)
    return share_chart(
        "Share of people with each protected value",
        bars,
        note="red: the share that the target allows" + (f"; {left:,} rarer values" if left else ""),
    )


def _residual(release: Unpublished, risk: ReleaseRisk) -> Section:
    policy = release.policy
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
        ],
        notes=[
            "Releases are taken as independent of each other. Where values persist or exclude each "
            "other, only the sum of the probabilities is a bound.",
            "Values that are not protected can be linked to a person with certainty.",
            f"The promise is per value, with a threshold of {policy.threshold}: that a person has "
            "some protected value may be more probable, unless a class of values is protected.",
        ],
    )


def _again(release: Unpublished, files: Mapping[str, str]) -> Section:
    ahead = release.strategy.preview(release.policy.threshold, 1024)
    planned = sum(1 for ratio in ahead if ratio < float("inf"))
    plan = f"planned for {planned:,} links of a person and a value"
    if planned == len(ahead):
        plan = "without an end; groups grow with every link"
    return Section(
        "Re-evaluation",
        lead="Every further release is checked against the whole series before it is published. "
        "Whoever holds the series can check this one again: serigraph verify certificate.json.",
        facts=[("Budget", plan), ("Policy", "fixed for the series; see certificate.json")],
        tables=[files_table(files)],
        notes=[
            "certificate.json has the digest of this report; the ledger has the digests of both."
        ],
    )
