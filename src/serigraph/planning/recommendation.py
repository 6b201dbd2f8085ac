"""Which strategy to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from serigraph.planning.outlook import Outlook

_NOTABLE = 0.02  # of the mean size: below it two strategies are as good as each other


@dataclass(frozen=True)
class Recommendation:
    """The name of an outlook, and the reason in a sentence or two."""

    name: str
    reason: str


def recommend(
    outlooks: Sequence[Outlook], threshold: str, releases: int, people: int
) -> Recommendation:
    """The strategy with the least suppression, then the smallest groups over the releases ahead.

    Only strategies under the policy's threshold are compared: which risk to accept is not for a
    program to say. The policy's own is kept unless another one is notably better.
    """
    mine = [each for each in outlooks if each.threshold == threshold]
    lasting = [each for each in mine if _lasts(each, releases, people)] or mine
    least = min(_losses(each) for each in lasting)
    gentle = [each for each in lasting if _losses(each) <= least]
    best = min(gentle, key=lambda each: each.mean_size)
    own = next((each for each in gentle if each.is_policy), None)
    if own is not None and own.mean_size <= best.mean_size * (1 + _NOTABLE):
        best = own
    return Recommendation(best.name, _reason(best, mine, releases, people))


def _lasts(outlook: Outlook, releases: int, people: int) -> bool:
    return len(outlook.expected) == releases and all(
        ratio <= people for ratio in outlook.ratios[:releases]
    )


def _losses(outlook: Outlook) -> tuple[int, float]:
    return len(outlook.unfit), round(outlook.suppressed_share, 3)


def _reason(best: Outlook, mine: Sequence[Outlook], releases: int, people: int) -> str:
    said = []
    if not _lasts(best, releases, people):
        said.append(
            f"No strategy leaves everybody a group in each of {releases} releases; this one is the "
            "least bad."
        )
    if best.unfit:
        said.append(
            f"{len(best.unfit)} values do not fit under any strategy compared; here the share "
            f"allowed is {best.largest_share:.2%}."
        )
    elif best.suppressed_share > 0:
        said.append(
            f"It suppressed {best.suppressed_share:.1%} of the protected values in the rehearsal, "
            "no other one less."
        )
    else:
        said.append("All values fit, and nothing was suppressed in the rehearsal.")
    others = [each for each in mine if each is not best and math.isfinite(each.mean_size)]
    if math.isfinite(best.mean_size):
        size = f"Groups with a protected value had {best.mean_size:,.0f} people on average"
        larger = [each for each in others if each.mean_size > best.mean_size]
        if larger:
            worst = max(larger, key=lambda each: each.mean_size)
            size += f", against {worst.mean_size:,.0f} with {worst.name}"
        said.append(size + ".")
    return " ".join(said)
