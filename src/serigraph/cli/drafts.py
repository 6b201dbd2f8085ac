"""``serigraph drafts``"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from serigraph.cli.draft import draft_json, tell_preview, tell_state
from serigraph.cli.output import Json, print_json, say
from serigraph.errors import InputRefused


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    what: Annotated[
        Literal["show", "discard"] | None,
        typer.Argument(help="Show everything of one draft, or remove it."),
    ] = None,
    name: Annotated[str, typer.Argument(help="The name of this draft.")] = "",
    as_json: Json = False,
) -> None:
    """List the drafts of a series, show one, or remove one: serigraph drafts SERIES show NAME.

    The beginning of a name will do if no other begins like this.
    """
    from serigraph.reporting.drafting import discard_draft, drafts, one_draft

    if what and not name:
        raise InputRefused(
            f"there is no name of a draft to {what}",
            remedy=f"give one: serigraph drafts {quote(str(series))} {what} NAME",
        )
    if what == "discard":
        removed = discard_draft(series, name)
        if as_json:
            print_json({"discarded": removed})
        else:
            say(f"Draft {removed} is removed; nothing was published.")
        return
    if what == "show":
        found = one_draft(series, name)
        if as_json:
            print_json(draft_json(found))
            return
        say(f"Draft {found.name}, made {found.made_at}")
        tell_preview(found)
        tell_state(found)
        return
    listed = drafts(series)
    if as_json:
        print_json([draft_json(each) for each in listed])
        return
    if not listed:
        say("There are no drafts.")
    for each in listed:
        state = each.obstacle and f"cannot be published: {each.obstacle}"
        if not state and each.approvals_asked:
            state = f"approved with {len(each.approvals)} of {each.approvals_asked} keys"
        say(
            f"  {each.name}  {each.made_at[:16]}  {each.figures['present']:>10,} people"
            + (f"  {state}" if state else "")
        )
