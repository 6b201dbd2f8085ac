"""``serigraph taxonomy``"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say
from serigraph.errors import InputRefused


class Way(StrEnum):
    """How values come together; see `serigraph.taxonomy`."""

    MASK = "mask"
    INTERVALS = "intervals"
    DATES = "dates"
    ORDER = "order"
    COLUMNS = "columns"
    FILE = "file"


def command(
    table: Annotated[str, typer.Argument(help="The table whose values the taxonomy is to have.")],
    column: Annotated[str, typer.Option(help="The column.")],
    by: Annotated[Way, typer.Option(help="How values come together.")],
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            help="mask: characters kept; intervals: a width; dates: month, quarter, year or "
            "decade; order: a value; columns: a column of parents; file: the path. Repeatable, "
            "the lowest level or the first value first.",
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Write the taxonomy (.csv), or draw it (.svg); repeatable."),
    ] = None,
    query: Annotated[
        str, typer.Option(help="SQL or a table's name, for a database; a workbook's sheet.")
    ] = "",
    series: Annotated[
        Path | None, typer.Option(help="A series, for the section [reading] of its policy.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build a taxonomy, or check one on a table; show its tree.

    Exit code 3: it is no tree, or lacks values of the table.
    """
    from serigraph.ledger.storage import storage_errors, write_private
    from serigraph.tables import build_taxonomy

    files = out or []
    if wrong := [file for file in files if file.suffix.lower() not in (".csv", ".svg")]:
        raise InputRefused(
            "a taxonomy is written as .csv and drawn as .svg",
            where=str(wrong[0]),
            remedy="give a name with one of these endings",
        )
    built = build_taxonomy(
        table, column, by=by.value, parts=parts or (), query=query, series=series
    )
    for file in files:
        with storage_errors(file):
            drawing = file.suffix.lower() == ".svg"
            write_private(file, (built.svg if drawing else built.text).encode())
    if as_json:
        print_json(
            {
                "column": built.column,
                "by": built.by,
                "values": built.values,
                "leaves": len(built.taxonomy.leaves),
                "levels": len(built.taxonomy.paths[0]),
                "paths": built.taxonomy.paths,
                "files": files,
            }
        )
        return
    say(built.tree)
    say(
        f"{len(built.taxonomy.leaves):,} leaves on {len(built.taxonomy.paths[0])} levels; "
        f"all {built.values:,} values of column {built.column!r} are among them"
    )
    for file in files:
        say(f"Written: {file}")
