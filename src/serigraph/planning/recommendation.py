"""Which strategy to choose, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from serigraph.planning.outlook import Outlook


@dataclass(frozen=True)
class Recommendation:
    """The name of an outlook, the reason in a sentence or two, and the section to paste."""

    name: str
    reason: str
    section: str


def order(outlook: Outlook) -> tuple[bool, float, float, float, bool]:
    """The sort key of outlooks, best first.

    Those that need no suppression come first, then by least suppression, smallest groups with a
    protected value, least precision lost; the policy's own wins ties. Figures are rounded as shown:
    a difference that the reader cannot see is no reason to change a policy.
    """
    return (
        outlook.needs_suppression,
        round(outlook.suppressed_share, 4),
        round(outlook.mean_size, 0),
        round(outlook.lost_precision, 3),
        not outlook.is_policy,
    )


def recommend(outlooks: Sequence[Outlook], threshold: str) -> Recommendation:
    """The best strategy under the policy's threshold: which risk to accept is not for a program to
    decide."""
    mine = sorted((each for each in outlooks if each.threshold == threshold), key=order)
    return Recommendation(mine[0].name, _reason(mine), mine[0].section)


def _reason(ranked: Sequence[Outlook]) -> str:
    best = ranked[0]
    if best.needs_suppression:
        fitting = "Every strategy compared needs suppression; "
        fitting += f"this one suppressed {best.suppressed_share:.2%} of the protected values."
    else:
        fitting = "All values fit, and nothing was suppressed in the rehearsal."
    if not math.isfinite(best.mean_size):
        return fitting
    size = f"Groups with a protected value had {best.mean_size:,.0f} people on average"
    if len(ranked) > 1:
        size += f"; the runner-up is {ranked[1].name}, with {_cost(ranked[1])}"
    return f"{fitting} {size}."


def _cost(outlook: Outlook) -> str:
    size = f"{outlook.mean_size:,.0f}" if math.isfinite(outlook.mean_size) else "no groups"
    if outlook.needs_suppression:
        size += f" and {outlook.suppressed_share:.2%} suppressed"
    return size
