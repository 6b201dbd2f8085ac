"""``serigraph init``"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from serigraph.cli.output import Json, print_json, say, stages
from serigraph.cli.value_list import value_lines


def command(  # an option each
    series: Annotated[Path, typer.Argument(help="Folder of the new series.")],
    tables: Annotated[
        list[str],
        typer.Option("--from", help="The table of the first release; several make one table."),
    ],
    person: Annotated[
        str, typer.Option(help="The column with the person's id [default: guessed]")
    ] = "",
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="The sensitive column; repeatable [default: one is guessed]"
        ),
    ] = None,
    plain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column to publish as it is, beside the values, which nobody may know of a "
            "person; repeatable.",
        ),
    ] = None,
    query: Annotated[
        str, typer.Option(help="SQL or a table's name, for a database; a workbook's sheet.")
    ] = "",
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="The same people at another time, to see which values persist; repeatable.",
        ),
    ] = None,
    persistence: Annotated[
        Literal["transient", "permanent", "any"] | None,
        typer.Option(
            help="What you know of the protected values: they pass, they are kept for life, or "
            "nothing [default: any, unless --also shows that they pass]"
        ),
    ] = None,
    releases: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many releases to plan for; values too common for so many are left "
            "unprotected [default: as many as protect most]",
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Start a series: propose a policy from the first table."""
    from serigraph.publishing.beginning import STAGES, begin
    from serigraph.publishing.strategy_section import rehearsed
    from serigraph.tables.addresses import is_path, shown

    with stages(STAGES) as progress:
        begun = begin(
            series,
            tables[0] if len(tables) == 1 else tables,
            person=person,
            sensitive=sensitive or (),
            plain=plain or (),
            query=query,
            also=also or (),
            persistence=persistence,
            releases=releases,
            progress=progress,
        )
    if as_json:
        print_json(begun)
        return
    say(f"New series in {begun.path}, with a proposed policy:")
    say(f"  {begun.policy}")
    for name in begun.files:
        say(f"  {begun.path / name}")
    columns = ", ".join(begun.quasi_identifiers)
    say(f"Person: {begun.person}. Quasi-identifiers: {columns}. Sensitive: {begun.sensitive}.")
    for line in value_lines(begun.value_list):
        say(line)
    for reason, names in _by_reason(begun.left_out).items():
        say(f"Left out, not published: {names} ({reason})")
    for line in rehearsed(begun.strategies):
        say(line)
    for note in begun.notes:
        say(f"Please check: {note}")
    say("Read the policy and correct it: the promise is fixed once a release is out.")
    given = f" --query {quote(query)}" if query else ""
    named = " ".join(quote(each) if is_path(each) else shown(each) for each in tables)
    say(f"Then: serigraph publish {named} --series {quote(str(series))}{given}")


def _by_reason(left_out: dict[str, str]) -> dict[str, str]:
    """The columns left out for each reason, joined by commas."""
    names: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        names.setdefault(reason, []).append(name)
    return {reason: ", ".join(each) for reason, each in names.items()}
