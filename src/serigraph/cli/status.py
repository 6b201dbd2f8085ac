"""``serigraph status``"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serigraph.cli.cohorts import tell_cohorts
from serigraph.cli.output import Json, print_json, say
from serigraph.cli.value_list import over_time_lines

if TYPE_CHECKING:
    from serigraph.publishing import Status
    from serigraph.records import WorstPair

_SHOWN = 10
_RATIOS_SHOWN = 8


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    as_json: Json = False,
) -> None:
    """Show the releases so far, the budget spent, and the values close to their limit."""
    from serigraph.publishing import status

    found = status(series)
    if as_json:
        print_json(
            {
                "path": found.path,
                "threshold": found.threshold,
                "strategy": found.strategy,
                "chain": found.releases[-1].chain if found.releases else "",
                "releases": [
                    {
                        "release": each.number,
                        "label": each.label,
                        "published_at": each.published_at,
                        "chain": each.chain,
                        "worst_in_release": closest.in_release,
                        "worst_in_series": closest.in_series,
                        "figures": each.summary,
                    }
                    for each, closest in zip(found.releases, found.closest, strict=True)
                ],
                "worst_in_series": found.closest[-1].in_series if found.closest else None,
                "people": found.people,
                "people_exposed": found.people_exposed,
                "pairs": found.pairs,
                "pairs_by_tenth_of_budget_spent": found.spent,
                "values": found.values,
                "ratio_by_link": found.ratios,
                "known_members": found.known_members,
                "values_over_time": found.over_time,
                "cohorts": found.cohorts,
                "notes": found.notes,
                "drafts": found.drafts,
            }
        )
    else:
        _tell(found)


def _tell(found: Status) -> None:
    say(f"Series {found.path.name}: threshold {found.threshold}, {found.strategy}")
    for note in found.notes:
        say(f"note: {note}")
    if not found.releases:
        say("No release is out yet.")
    for each, closest in zip(found.releases, found.closest, strict=True):
        figures = each.summary
        say(
            f"  {each.number:>3}  {each.label:<20} {each.published_at[:10]}  "
            f"{figures['present']:>10,} people  {figures['groups']:>9,} groups  "
            f"worst p {_shown(closest.in_release)}, so far {_shown(closest.in_series)}"
            f"{_singled_out(figures)}"
        )
    for name in found.drafts:
        say(f"Draft, not published: {name}")
    _tell_singled_out(found)
    if found.closest and found.closest[-1].in_series is not None:
        say(f"Over the whole series: worst probability {found.closest[-1].in_series}")
    for line in over_time_lines([each for each in found.over_time if each.returned]):
        say(line)
    if found.cohorts is not None:
        tell_cohorts(found.cohorts)
    if found.cohorts is not None and not found.values:
        return  # no transient value has been shown: there is no budget
    known = f", besides {found.known_members:,} known" if found.known_members else ""
    ratios = _ratios(found.ratios)
    say(f"Members required per holder at the 1st, 2nd, ... exposure{known}: {ratios}")
    if not found.pairs:
        return
    say(
        f"{found.people_exposed:,} of {found.people:,} people were ever exposed to a "
        f"protected value ({found.pairs:,} pairs of transient values)."
        if found.cohorts is not None
        else f"{found.people_exposed:,} of {found.people:,} people were ever in a group with a "
        f"protected value ({found.pairs:,} pairs)."
    )
    say("Pairs by share of their budget spent:")
    for tenth, pairs in enumerate(found.spent):
        bar = "#" * round(40 * pairs / max(found.spent))
        say(f"  up to {10 * (tenth + 1):>3} %  {pairs:>12,}  {bar}".rstrip())
    near = [value for value in found.values if value.near_limit]
    if near:
        say("Values with pairs that have spent more than 90 %:")
        for value in near[:_SHOWN]:
            say(f"  {value.name}: {value.near_limit:,} of {value.pairs:,} pairs")
        if len(near) > _SHOWN:
            say(f"  and {len(near) - _SHOWN:,} more")


def _shown(pair: WorstPair | None) -> str:
    return f"{float(pair.probability):.4f} of {pair.threshold}" if pair else "none"


def _singled_out(figures: Mapping[str, Any]) -> str:
    from serigraph.publishing.published import SingledOut

    singled = SingledOut.of(figures)
    if singled is None:
        return ""
    return f"  alone {singled.people_alone:,}, unique {float(singled.share):.1%}"


def _tell_singled_out(found: Status) -> None:
    """In words, for the latest release that has any."""
    from serigraph.publishing.published import SingledOut

    for each in reversed(found.releases):
        singled = SingledOut.of(each.summary)
        if singled is not None and singled.words():
            for words in singled.words():
                say(f"In {each.label} {words}.")
            return


def _ratios(ratios: Sequence[float]) -> str:
    possible = [ratio for ratio in ratios if ratio < math.inf]
    shown = ", ".join(f"{ratio:,.1f}" for ratio in possible[:_RATIOS_SHOWN])
    if len(possible) > _RATIOS_SHOWN:
        shown += f", ... {len(possible)}th: {possible[-1]:,.0f}"
    return shown if len(possible) == len(ratios) else f"{shown}; then the budget is used up"
