"""The cohorts of a series, as ``serigraph status`` and ``serigraph audit`` show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serigraph.cli.output import say

if TYPE_CHECKING:
    from serigraph.auditing.cohorts import CohortsAfter

_SHOWN = 20  # values


def tell_cohorts(found: CohortsAfter) -> None:
    """Show how many people are in cohorts, and the classes of each value that persists."""
    say(
        f"Values that persist: {found.people:,} people in {found.cohorts:,} cohorts, "
        f"{found.mean_size:.1f} each on average; {found.retired:,} of them have retired"
    )
    if not found.values:
        say("  none of these values was ever shown")
        return
    share = f"H/(|K| - {found.known_members})" if found.known_members else "H/|K|"
    say(f"  {'value':<24} {'':>10} {'holders':>9} {'classes':>10}   largest {share}")
    for each in found.values[:_SHOWN]:
        above = f", {each.people_above:,} people ABOVE" if each.people_above else ""
        say(
            f"  {each.value[:24]:<24} {each.persistence:>10} {each.holders:>9,} "
            f"{each.classes:>10,}   {float(each.largest):.4f} of {each.threshold}{above}"
        )
    if len(found.values) > _SHOWN:
        say(f"  and {len(found.values) - _SHOWN:,} more")
