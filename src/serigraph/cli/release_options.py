"""The options of the commands that make a release from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SeriesOption = Annotated[Path, typer.Option(help="Folder of the series.")]
Registry = Annotated[str | None, typer.Option(help="The population list, if there is one.")]
Label = Annotated[str, typer.Option(help="Release name [default: file name]")]
Query = Annotated[str, typer.Option(help="SQL, if the table is a DuckDB database.")]
AllowSuppression = Annotated[
    bool, typer.Option("--allow-suppression", help="Leave out values that do not fit.")
]
NewPeople = Annotated[
    bool, typer.Option("--new-people", help="Confirm that most people are new to the series.")
]
SameTable = Annotated[
    bool, typer.Option("--same-table", help="Confirm that nothing has changed since a release.")
]
AssumeTransient = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="Publish though the data say that this value persists; repeatable.",
    ),
]
Wait = Annotated[float, typer.Option(help="Seconds to wait if another process is publishing.")]
After = Annotated[
    str | None,
    typer.Option(
        metavar="CHAIN",
        help="Refuse unless the latest release has this chain digest; '': no release yet.",
    ),
]
Sign = Annotated[
    Path | None, typer.Option(metavar="KEY", help="Sign the certificate with this key.")
]
