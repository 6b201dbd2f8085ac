"""``serigraph export``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.engine import EngineName, EngineOption, MasterOption, SettingOption, chosen
from serigraph.cli.output import Json, print_json, say


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write to; must be new or empty.")],
    confidential: Annotated[
        bool,
        typer.Option(
            "--confidential",
            help="Also write who was published as a holder of what, and cohorts.",
        ),
    ] = False,
    engine: EngineOption = EngineName.LOCAL,
    master: MasterOption = "",
    spark_setting: SettingOption = None,
    as_json: Json = False,
) -> None:
    """Write the ledger as Parquet files, for others to check. They hold ids: keep them safe."""
    from serigraph.engines import export

    export(
        series,
        folder,
        confidential=confidential,
        engine=chosen(engine, master, spark_setting),
    )
    written = sorted(folder.glob("*.parquet"))
    if as_json:
        print_json({"files": written})
        return
    for path in written:
        say(str(path))
