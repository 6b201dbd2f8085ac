"""The part of ``serigraph audit`` about crowds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from serigraph.cli.output import percent, say

if TYPE_CHECKING:
    from serigraph.auditing import CrowdsAfter, HolderFigures


def tell_crowds(crowds: Sequence[CrowdsAfter], known_members: int) -> None:
    """Show, release by release, how many holders are identified if values persist."""
    if not crowds:
        return
    say("If values persist, holders hide only in crowds: people whom all releases treat alike.")
    if crowds[-1].over_all.held is None:
        _tell_sizes(crowds)
    else:
        _tell_holders(crowds, known_members)


def _tell_sizes(crowds: Sequence[CrowdsAfter]) -> None:
    say("People in crowds with too many holders for the threshold, as far as counts show:")
    say(f"  {'release':<24} {'crowds':>10} {'pairs':>12} {'alone':>10} {'above':>24}")
    for each in crowds:
        all_of = each.over_all
        above = f"{all_of.surely_above:,} to {all_of.possibly_above:,}"
        say(
            f"  {each.label[:24]:<24} {all_of.crowds:>10,} {all_of.people:>12,} "
            f"{all_of.alone:>10,} {above:>24}"
        )
    say("  Give the tables of the releases (--raw) to see how many holders are identified.")


def _tell_holders(crowds: Sequence[CrowdsAfter], known_members: int) -> None:
    say("Holders so far in crowds above the threshold (above), or of holders only (certain):")
    known = f"{known_members} known" if known_members else ""
    say(
        f"  {'release':<24} {'crowds':>10} {'holders':>9} {'largest':>9} "
        f"{'above':>8} {'certain':>8} {known:>9}".rstrip()
    )
    for each in crowds:
        if each.over_all.held is not None:
            line = _line(each.label, each.over_all.crowds, each.over_all.held, known_members)
            say(line)
    say("By value, after the last release:")
    for value in crowds[-1].values:
        if value.figures.held is not None:
            say(_line(value.value, value.figures.crowds, value.figures.held, known_members))


def _line(name: str, crowds: int, held: HolderFigures, known_members: int) -> str:
    def share(part: int) -> str:
        return percent(part / held.holders) if held.holders else "-"

    known = share(held.above_if_known) if known_members else ""
    return (
        f"  {name[:24]:<24} {crowds:>10,} {held.holders:>9,} {float(held.largest):>9.4f} "
        f"{share(held.above):>8} {share(held.certain):>8} {known:>9}"
    ).rstrip()
