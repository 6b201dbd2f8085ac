"""``serigraph export``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    folder: Annotated[Path, typer.Argument(help="Where to write; new or empty.")],
    as_json: Json = False,
) -> None:
    """Write the ledger as Parquet, for others to check; it holds ids, so keep it safe."""
    from serigraph.ledger import Series

    Series.open(series).export(folder)
    written = sorted(folder.glob("*.parquet"))
    if as_json:
        print_json({"files": written})
        return
    for path in written:
        say(str(path))
