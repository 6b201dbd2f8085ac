"""The charts of risk that reports and results in notebooks share."""

from __future__ import annotations

from collections.abc import Sequence

from serigraph.charts import Bar, Line, column_chart, line_chart
from serigraph.records import WorstPair


def distribution_chart(by_share_of_threshold: Sequence[int], *, is_sample: bool) -> str:
    """Pairs by the share of their threshold reached."""
    shares = by_share_of_threshold
    names = [f"{10 * (tenth + 1)} %" for tenth in range(len(shares) - 1)] + ["above"]
    title = "Pairs by probability, as a share of the threshold"
    return column_chart(
        title + (" (sample)" if is_sample else ""),
        [
            Bar(name, float(pairs), is_beyond=name == "above")
            for name, pairs in zip(names, shares, strict=True)
        ],
        x="up to this share of the threshold",
        y="pairs of a person and a value",
    )


def closeness_chart(labels: Sequence[str], worst: Sequence[WorstPair | None]) -> str:
    """How close any pair of the series has come to its threshold, from release to release."""
    points = [(float(n), float(pair.share) if pair else 0.0) for n, pair in enumerate(worst, 1)]
    return line_chart(
        "Largest share of a threshold reached so far",
        [Line("any pair of the series", points)],
        x=f"release (1 = {labels[0]})" if labels else "release",
        y="share of the threshold",
        limit=1.0,
        limit_name="threshold =",
        labels={float(n): label for n, label in enumerate(labels, 1)},
    )


def budget_chart(by_tenth: Sequence[int]) -> str:
    """Pairs by how much of their budget is spent."""
    return column_chart(
        "Pairs by the share of their budget spent",
        [Bar(f"{10 * tenth} %", float(pairs)) for tenth, pairs in enumerate(by_tenth, 1)],
        x="up to this share",
        y="pairs of a person and a value",
    )
