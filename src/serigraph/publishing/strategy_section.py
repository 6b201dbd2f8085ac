"""The section on the strategy in a proposed policy, with what was rehearsed beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from serigraph.publishing.first_plan import FirstPlan
from serigraph.tables.cells import counted

if TYPE_CHECKING:
    from serigraph.planning import Outlook

_WITHOUT = [
    "# A plan for transient values. No value is one here, so no strategy was rehearsed, and this",
    "# one does nothing until you call a value transient; serigraph plan compares them all then.",
]
_OTHERS = 'or "constant" (releases), "geometric" (factor), "schedule" (link_chances)'


def section(plan: FirstPlan, strategies: Sequence[Outlook] = ()) -> list[str]:
    """The lines of the section: the first of the ``strategies``, or the adaptive one."""
    allowed = f"allows values held by {plan.share_allowed:.1%} of the people"
    commonest = f"the commonest has {plan.commonest / plan.people:.1%}"
    reasons = {
        "name": _OTHERS,
        "releases": f"to plan the budget for; {allowed}; {commonest}",
    }
    chosen = [f'name = "adaptive"\nreleases = {plan.releases}']
    chosen = [each.section.removeprefix("[strategy]\n") for each in strategies[:1]] or chosen
    return [
        *_WITHOUT * plan.persists,
        "[strategy]",
        *(_with_reason(line, reasons) for line in chosen[0].splitlines()),
        *(f"# {line}" for line in rehearsed(strategies)),
        *["# serigraph plan rehearses them on any later table."] * (not plan.persists),
        "",
    ]


def rehearsed(strategies: Sequence[Outlook]) -> list[str]:
    """What each strategy cost in the rehearsal, the best first; nothing if there was none."""
    if not strategies:
        return []
    lines = [
        f"Strategies, rehearsed over {counted(strategies[0].releases, 'release')} with half of the "
        "people coming back each time. The first is chosen:",
        "least suppression, then the smallest groups with a protected value, then precision.",
        f"{'mean group':>12}{'suppressed':>12}{'precision lost':>16}",
    ]
    for each in strategies:
        size = f"{each.mean_size:,.0f}" if math.isfinite(each.mean_size) else "none"
        lost = f"{each.lost_precision:.1%}"
        lines.append(f"{size:>12}{each.suppressed_share:>12.2%}{lost:>16}   {each.short_name}")
    return lines


def _with_reason(line: str, reasons: Mapping[str, str]) -> str:
    reason = reasons.get(line.split(" ")[0], "")
    return f"{line}  # {reason}" if reason else line
