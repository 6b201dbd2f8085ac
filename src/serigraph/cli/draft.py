"""``serigraph draft``"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from serigraph.cli.output import Json, plain, print_json, say, stages
from serigraph.cli.publish import tell_closest, tell_figures, tell_series
from serigraph.cli.release_options import (
    TABLES,
    After,
    AllowSuppression,
    AssumeTransient,
    Label,
    NewPeople,
    Query,
    Registry,
    SameTable,
    SeriesOption,
    Sign,
    Wait,
    as_one,
)
from serigraph.cli.value_list import value_lines

if TYPE_CHECKING:
    from serigraph.reporting import Draft, Preview

_SHOWN = 8  # values whose holders have become more or fewer


def command(  # an option each
    tables: Annotated[list[str], TABLES],
    series: SeriesOption,
    registry: Registry = None,
    label: Label = "",
    query: Query = "",
    allow_suppression: AllowSuppression = False,
    new_people: NewPeople = False,
    same_table: SameTable = False,
    assume_transient: AssumeTransient = None,
    wait: Wait = 0.0,
    after: After = None,
    sign: Sign = None,
    as_json: Json = False,
) -> None:
    """Make the next release of a series and keep it as a draft: verified, attacked, not published.

    A draft is as confidential as the table. serigraph publish --draft NAME publishes its files as
    they are; serigraph drafts SERIES discard NAME removes it.
    """
    from serigraph.reporting.drafting import STAGES, draft

    with stages(STAGES) as progress:
        made = draft(
            as_one(tables),
            series,
            registry=registry,
            label=label,
            query=query,
            allow_suppression=allow_suppression,
            new_people=new_people,
            same_table=same_table,
            assume_transient=assume_transient or (),
            wait=wait,
            after=after,
            sign=sign,
            progress=progress,
        )
    if as_json:
        print_json(draft_json(made))
        return
    say(f"Draft {made.name}")
    tell_preview(made)
    tell_state(made)


def draft_json(made: Draft) -> dict[str, Any]:
    """A draft for machines."""
    return {
        "name": made.name,
        **preview_json(made),
        "approvals": made.approvals,
        "approvals_asked": made.approvals_asked,
        "obstacle": made.obstacle,
        "folder": made.folder,
        "report": made.report,
    }


def preview_json(found: Preview) -> dict[str, Any]:
    """A release that is not published, for machines."""
    return {
        "release": found.number,
        "label": found.label,
        "made_at": found.made_at,
        "figures": plain(found.figures),
        "values": plain(found.value_list),
        "attacks": plain(found.attacks),
        "differences": plain(found.differences),
        "notes": found.notes,
    }


def tell_preview(found: Preview) -> None:
    """What would be published, what differs from the last release, and how far attacks come."""
    for line in value_lines(found.value_list):
        say(line)
    figures = found.figures
    say(f"Release {found.number}, {found.label}, would be: {figures['present']:,} people published")
    tell_figures(figures)
    tell_closest(figures)
    tell_series(found.number, figures)
    since = found.differences
    if since is not None:
        say(
            f"  since {since.since}: {since.again:,} people again, {since.new:,} new, "
            f"{since.gone:,} gone"
        )
        changed = {name: each for name, each in since.values.items() if each[0] != each[1]}
        shown = [f"{name} {was:,} to {now:,}" for name, (was, now) in changed.items()]
        if shown:
            more = f" and {len(shown) - _SHOWN:,} more" if len(shown) > _SHOWN else ""
            say(f"  holders: {', '.join(shown[:_SHOWN])}{more}")
    for each in found.attacks:
        say(
            f"  attack, {each.attack}: not scored: {each.not_run}"
            if each.not_run
            else f"  attack, {each.attack}: right {each.lift:.2f} times as often as claimed "
            f"({each.lowest:.2f} to {each.highest:.2f})"
        )
    for note in found.notes:
        say(f"  note: {note}")


def tell_state(made: Draft) -> None:
    """Where a draft lies, and what it lacks to be published."""
    say(f"  report, with rows before and after: {made.report}")
    if made.obstacle:
        say(f"  cannot be published: {made.obstacle}")
    elif made.approvals_asked:
        say(f"  approved with {len(made.approvals)} of {made.approvals_asked} keys")
