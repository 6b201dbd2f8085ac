"""What releases reveal if values persist, for the report pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from serigraph.auditing import CrowdFigures, CrowdsAfter, HolderFigures
from serigraph.charts import Line, line_chart
from serigraph.reporting.page import Section, Table, exact, percent

IF_VALUES_PERSIST = (
    "If values persist, holders hide only in crowds: people whom all releases treat alike."
)
HELD = (
    "The share of published holders in a crowd is the probability that an adversary who knows "
    "everything except who is who in the crowd assigns to each member. Above: holders in crowds "
    "whose share is above the threshold. Certain: holders in crowds of holders only."
)
NOT_HELD = (
    "The holders are not known here. Above: people whose crowd has a share of holders above the "
    "threshold, in every (at least) or in some (at most) possible world that agrees with the "
    "published counts. Give the tables that the releases were made from to see how many holders "
    "are identified."
)
CONFIDENTIAL = "These figures come from the original tables: do not publish them."


def crowds_section(
    crowds: Sequence[CrowdsAfter],
    *,
    show: Callable[[Fraction], Any] = exact,
    known_members: int = 0,
) -> Section:
    """The crowds release by release, with a chart; ``known_members`` are those that ``crowds`` were
    computed for, if the page is to show them."""
    held = [each.over_all.held for each in crowds if each.over_all.held is not None]
    if held:
        last, known = crowds[-1].values, known_members
        return Section(
            "If values persist",
            lead=f"{IF_VALUES_PERSIST} {HELD}",
            charts=[_holders_chart(held)],
            tables=[
                _table("Release", [(each.label, each.over_all) for each in crowds], show, known),
                _table("Value", [(each.value, each.figures) for each in last], show, known),
            ],
            notes=[CONFIDENTIAL],
        )
    return Section(
        "If values persist",
        lead=f"{IF_VALUES_PERSIST} {NOT_HELD}",
        charts=[_alone_chart(crowds)],
        tables=[_without_holders(crowds)],
    )


def share(part: int, whole: int) -> float:
    """
    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return part / whole if whole else 0.0


def _holders_chart(held: Sequence[HolderFigures]) -> str:
    def points(parts: Sequence[int]) -> list[tuple[float, float]]:
        return [
            (float(number), 100 * share(part, each.holders))
            for number, (part, each) in enumerate(zip(parts, held, strict=True), 1)
        ]

    return line_chart(
        "Holders in crowds above the threshold",
        [
            Line("above the threshold", points([each.above for each in held])),
            Line("certain", points([each.certain for each in held])),
        ],
        x="release",
        y="% of the holders so far",
    )


def _alone_chart(crowds: Sequence[CrowdsAfter]) -> str:
    points = [
        (float(number), 100 * share(each.over_all.alone, each.over_all.people))
        for number, each in enumerate(crowds, 1)
    ]
    return line_chart(
        "People alone in their crowd",
        [Line("of all pairs so far", points)],
        x="release",
        y="% of the pairs",
    )


def _table(
    what: str,
    crowds: Sequence[tuple[str, CrowdFigures]],
    show: Callable[[Fraction], Any],
    known: int,
) -> Table:
    """A row for each release, or each value; the share of holders above the threshold also for an
    adversary who knows members of each crowd, if ``known`` says so."""
    more = [f"Above, {known} known"] if known else []
    return Table(
        [what, "Crowds", "Holders", "Largest share", "Above", "Certain", *more],
        [
            [
                name,
                f"{figures.crowds:,}",
                f"{held.holders:,}",
                show(held.largest),
                percent(share(held.above, held.holders)),
                percent(share(held.certain, held.holders)),
                *([percent(share(held.above_if_known, held.holders))] if known else []),
            ]
            for name, figures in crowds
            if (held := figures.held) is not None
        ],
    )


def _without_holders(crowds: Sequence[CrowdsAfter]) -> Table:
    return Table(
        ["Release", "Crowds", "Pairs", "Alone in a crowd", "Above, at least", "Above, at most"],
        [
            [
                each.label,
                *(
                    f"{number:,}"
                    for number in (
                        each.over_all.crowds,
                        each.over_all.people,
                        each.over_all.alone,
                        each.over_all.surely_above,
                        each.over_all.possibly_above,
                    )
                ),
            ]
            for each in crowds
        ],
    )
