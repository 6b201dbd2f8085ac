"""Sentences and charts that the reports of releases and of series share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from serigraph.auditing import Figures
from serigraph.charts import Bar, Line, column_chart, line_chart
from serigraph.reporting.page import Section, Table

ADVERSARIES = {
    "presence unknown": "has every release and the population list, and knows everybody's "
    "quasi-identifiers and how the releases were made, but not who has a record in which release",
    "presence known": "has every release, and knows everybody's quasi-identifiers, how the "
    "releases were made, and who has a record in which release",
}


def exact(probability: Fraction | str) -> str:
    """A probability for people: the decimal number, and the fraction where it is short.

    >>> exact(Fraction(7, 16)), exact("12345678901/98765432101")
    ('0.4375 (7/16)', '0.1250')
    """
    number = Fraction(probability)
    spelt = f" ({number})" if len(str(number)) <= 12 and number.denominator > 1 else ""
    return f"{float(number):.4f}{spelt}"


def verdict(releases: int, largest: Fraction, policy: Mapping[str, Any]) -> str:
    """The one sentence that everybody reads."""
    over = "in this release" if releases == 1 else f"over all {releases} releases"
    promise = (
        f"The promise holds: {over} nobody can be linked to a protected value with a probability "
        "above its threshold."
    )
    own = policy["protected"]["thresholds"]
    threshold = policy["guarantee"]["threshold"]
    if own:
        others = ", ".join(f"{name} {number}" for name, number in own.items())
        return f"{promise} Thresholds: {threshold}; of their own: {others}."
    return f"{promise} Largest: {exact(largest)}; threshold: {exact(threshold)}."


def threat_section(adversary: str, policy: Mapping[str, Any]) -> Section:
    """Against whom the promise holds."""
    columns = ", ".join(policy["quasi_identifiers"])
    return Section(
        "Threat",
        lead=f"The adversary assumed {ADVERSARIES[adversary]}. It wants to link a person to a "
        "protected value in any of the releases.",
        facts=[("Adversary", adversary), ("Quasi-identifiers", columns)],
    )


def distribution_chart(figures: Figures, *, is_sample: bool) -> str:
    """Pairs by the part of their threshold that they have reached."""
    shares = figures.by_share_of_threshold
    names = [f"{10 * (tenth + 1)} %" for tenth in range(len(shares) - 1)] + ["above"]
    title = "Pairs by probability, as a part of the threshold"
    return column_chart(
        title + (" (sample)" if is_sample else ""),
        [
            Bar(name, float(pairs), is_beyond=name == "above")
            for name, pairs in zip(names, shares, strict=True)
        ],
        x="up to this part of the threshold",
        y="pairs of a person and a value",
    )


def probability_chart(
    labels: Sequence[str], largest: Sequence[Fraction], threshold: Fraction
) -> str:
    """How the largest probability grew from release to release."""
    points = [(float(number), float(p)) for number, p in enumerate(largest, 1)]
    return line_chart(
        "Largest probability of a link so far",
        [Line("largest probability", points)],
        x=f"release (1 = {labels[0]})" if labels else "release",
        y="probability",
        limit=float(threshold),
        limit_name="threshold",
    )


def loss_chart(widths: Mapping[str, float]) -> str:
    """How much of each column's precision was given up."""
    return column_chart(
        "Information lost per column",
        [Bar(name, float(f"{width:.3g}")) for name, width in widths.items()],
        x="quasi-identifier",
        y="share of the column's range (0: exact, 1: nothing is left)",
    )


def size_chart(sizes: Sequence[tuple[int, int]]) -> str:
    """Sizes of groups, each with the number of groups that have it, in powers of two."""
    if not len(sizes):
        return column_chart("Groups with a protected value", [], x="people in a group", y="groups")
    number: Counter[int] = Counter()
    for size, groups in sizes:
        number[max(size, 1).bit_length() - 1] += groups
    first, last = min(number), max(number)
    bars = [
        Bar(f"{2**each}-{2 ** (each + 1) - 1}" if each else "1", float(number[each]))
        for each in range(first, last + 1)
    ]
    return column_chart(
        "Groups with a protected value, by size", bars, x="people in a group", y="groups"
    )


def files_table(files: Mapping[str, str]) -> Table:
    return Table(["File", "SHA-256"], [[name, digest] for name, digest in sorted(files.items())])


def percent(share: float) -> str:
    """
    >>> percent(0.123), percent(0.00002), percent(math.nan)
    ('12.3 %', '0.002 %', 'not measured')
    """
    if math.isnan(share):
        return "not measured"
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"
