"""``serigraph history``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    person: Annotated[str, typer.Option(help="The person's id.")],
    value: Annotated[str, typer.Option(help="A protected value or class.")],
    as_json: Json = False,
) -> None:
    """Show every exposure of a person to a protected value: m(o, s) of the paper."""
    from serigraph.publishing import history

    found = history(series, person, value)
    if as_json:
        print_json(
            {
                "value": found.value,
                "was_ever_shown": found.was_ever_shown,
                "threshold": found.threshold,
                "exposures": found.exposures,
                "persistence": found.persistence,
                "alike": found.alike,
                "survival": found.survival,
                "probability": found.probability,
                "caveat": found.caveat,
            }
        )
        return
    if not found.was_ever_shown:
        say("This value is protected, and no release has shown it yet.")
    elif not found.exposures:
        say("Never in a group with this value.")
    for each in found.exposures:
        kind = "present" if each.present else "absent"
        if each.known_members:
            kind += f", {each.known_members:,} known"
        say(f"  {each.label:<20} n = {each.size:>6,}  n_s = {each.count:>4,}  ({kind})")
    if found.persistence == "transient":
        say(
            f"Survival {float(found.survival):.6f}; probability of ever being linked "
            f"{float(found.probability):.6f}, threshold {found.threshold}"
        )
        if found.caveat:
            say(found.caveat)
        return
    say(f"The value is {found.persistence}, so exposures do not add up.")
    if found.alike is None:
        say("The person is in no cohort.")
        return
    known = found.alike.known_members
    say(
        f"Of {found.alike.people:,} people who are alike, {found.alike.holders:,} were ever "
        f"published as holders{f', {known:,} known to the adversary' if known else ''}: "
        f"probability {float(found.probability):.6f}, threshold {found.threshold}"
    )
