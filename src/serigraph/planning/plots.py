"""The charts of a plan that its page and notebooks share."""

from __future__ import annotations

from collections.abc import Sequence

from serigraph.charts import Line, line_chart
from serigraph.planning.outlook import Outlook


def ratio_chart(outlooks: Sequence[Outlook]) -> str:
    """The paper's plot of ratio against number of links."""
    return line_chart(
        "Ratio by exposure",
        [
            Line(each.short_name, [(float(j), ratio) for j, ratio in enumerate(each.ratios, 1)])
            for each in outlooks
        ],
        x="exposure",
        y="members per holder",
        is_log=True,
    )


def mean_size_chart(outlooks: Sequence[Outlook]) -> str:
    """The sizes of groups in the releases ahead, as rehearsed."""
    return line_chart(
        "Mean size of the groups with a protected value",
        [
            Line(
                each.short_name,
                [(float(n), release.mean_size) for n, release in enumerate(each.expected, 1)],
            )
            for each in outlooks
        ],
        x="release from now",
        y="people",
        is_log=True,
    )
