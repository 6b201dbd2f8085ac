"""The plots of a plan, as one page."""

from __future__ import annotations

import os
from pathlib import Path

from serigraph.charts import Bar, Line, line_chart, share_chart
from serigraph.ledger.storage import storage_errors, write_private
from serigraph.planning import SeriesPlan
from serigraph.planning.plots import mean_size_chart, ratio_chart
from serigraph.publishing.persistence import names_of
from serigraph.reporting.page import Page, Section, Table, percent, render

_VALUES_SHOWN = 12


def write_plan_page(plan: SeriesPlan, path: str | os.PathLike[str]) -> None:
    """Write the plots of a plan as one HTML file that works offline."""
    with storage_errors(Path(path)):
        write_private(Path(path), render(_page(plan)).encode())


def _page(plan: SeriesPlan) -> Page:
    rate = plan.return_rate
    return Page(
        title="Series plan",
        subtitle=f"{plan.people:,} people, {plan.releases_so_far} releases so far, "
        f"{plan.releases_ahead} ahead; return rate {percent(rate.rate)} ({rate.source})",
        verdict=f"Recommended: {plan.recommendation.name}. {plan.recommendation.reason}",
        holds=None,
        sections=[
            *([persistence_section(plan)] if plan.costs else []),
            *([_ratios(plan), _expected(plan), _values(plan)] if plan.outlooks else []),
        ],
    )


def persistence_section(plan: SeriesPlan) -> Section:
    """What each choice of persistence costs."""
    return Section(
        "What persistence costs",
        lead="As if a series began with this table, and all protected values were of one kind. "
        f"Rehearsed with {plan.rehearsed_people:,} of the people over {plan.releases_ahead:,} "
        "releases. People keep their values for life, and nobody leaves the registry.",
        tables=[
            Table(
                [
                    "All values",
                    "Releases",
                    "Cohort, at least",
                    "Mean group size",
                    "People waiting, at most",
                    "Records withheld",
                    "In the last release",
                    "Holders shown",
                ],
                [
                    [
                        each.persistence,
                        f"{each.releases:,}",
                        "none" if each.cohort_size is None else f"{each.cohort_size:,}",
                        f"{each.mean_size:,.1f}",
                        percent(each.most_waiting),
                        percent(each.withheld_share),
                        percent(each.withheld_at_last),
                        percent(each.holders_shown),
                    ]
                    for each in plan.costs
                ],
            )
        ],
        notes=[
            f"{each.persistence}: the next release would be refused, because too many people hold "
            f"{names_of(each.too_frequent)}."
            for each in plan.costs
            if each.too_frequent
        ],
    )


def _ratios(plan: SeriesPlan) -> Section:
    """The paper's plot of ratio against number of links."""
    return Section(
        "Members required per holder at the j-th exposure",
        lead="A person's j-th exposure to a value takes a group with at least this many members "
        "per holder of the value. Where a line ends, the budget is used up.",
        charts=[ratio_chart(plan.outlooks)],
        tables=[
            Table(
                [
                    "Strategy",
                    "First exposure",
                    "Largest share of a value",
                    "Values that do not fit",
                ],
                [
                    [
                        each.name,
                        f"{each.ratios[0]:,.2f}",
                        percent(each.largest_share),
                        f"{len(each.unfit):,} of {len(plan.values):,}",
                    ]
                    for each in plan.outlooks
                ],
            )
        ],
    )


def _expected(plan: SeriesPlan) -> Section:
    return Section(
        "Expected groups",
        lead=f"Rehearsed with {plan.rehearsed_people:,} of the people: each release was made in "
        "memory by the engine that makes real releases.",
        charts=[
            mean_size_chart(plan.outlooks),
            line_chart(
                "Values suppressed",
                [
                    Line(
                        each.short_name,
                        [
                            (float(n), 100 * release.suppressed_share)
                            for n, release in enumerate(each.expected, 1)
                        ],
                    )
                    for each in plan.outlooks
                ],
                x="release from now",
                y="% of the protected values held",
            ),
        ],
        tables=[_costs(plan), *([_links_left(plan)] if plan.releases_so_far else [])],
    )


def _costs(plan: SeriesPlan) -> Table:
    """The figures behind the recommendation."""
    return Table(
        ["Strategy", "Suppressed", "Mean group size", "Precision lost"],
        [
            [
                each.name,
                f"{100 * each.suppressed_share:.2f} %",
                f"{each.mean_size:,.0f}",
                f"{100 * each.lost_precision:.1f} %",
            ]
            for each in plan.outlooks
        ],
    )


def _links_left(plan: SeriesPlan) -> Table:
    return Table(
        ["Strategy", "Exposures left: pairs of a person and a value"],
        [
            [
                each.name,
                ", ".join(
                    f"{'all planned' if left.links is None else left.links}: {left.pairs:,}"
                    for left in each.left
                ),
            ]
            for each in plan.outlooks
        ],
    )


def _values(plan: SeriesPlan) -> Section:
    bars = [
        Bar(each.name, each.share, is_beyond=not each.fits, allowed=each.allowed)
        for each in plan.values[:_VALUES_SHOWN]
    ]
    left = len(plan.values) - len(bars)
    return Section(
        "Values",
        lead="The share of people who hold each protected value, and the share that the policy's "
        "strategy allows.",
        charts=[
            share_chart(
                "Commonest protected values",
                bars,
                note="red: allowed" + (f"; {left:,} rarer values" if left else ""),
            )
        ],
    )
