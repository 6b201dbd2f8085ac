"""The commands together, and how a run ends.

Exit codes: 0 done; 2 wrong use of the command line; 3 the table, the registry or the policy is
refused; 4 the promise could not be kept, nothing was published; 5 published already; 6 the series
is missing, busy or damaged; 7 the disk is full or cannot be written; 8 Spark cannot do the work;
70 a bug; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from serigraph._version import __version__
from serigraph.cli import (
    audit,
    evaluate,
    export,
    history,
    init,
    key,
    plan,
    publish,
    report,
    reproduce,
    simulate,
    status,
    verify,
)
from serigraph.cli.output import complain
from serigraph.errors import ImpossibleState, SerigraphError

app = typer.Typer(
    name="serigraph",
    help="Publish microdata again and again, under one guarantee over the whole series.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_INTERRUPTED = 130
_SHOW_ALL = "SERIGRAPH_TRACEBACK"

for name, module in {
    "init": init,
    "plan": plan,
    "publish": publish,
    "status": status,
    "history": history,
    "audit": audit,
    "report": report,
    "verify": verify,
    "key": key,
    "evaluate": evaluate,
    "export": export,
    "simulate": simulate,
    "reproduce": reproduce,
}.items():
    app.command(name)(module.command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"serigraph {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and leave with the documented exit code."""
    as_json = "--json" in sys.argv
    try:
        app()
    except SerigraphError as error:
        complain(error, as_json)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            # Typer ends so without a word. The release may be out: that hangs on a single commit.
            print("Interrupted: 'serigraph status' says which releases are out.", file=sys.stderr)
        raise
    except Exception as error:
        if os.environ.get(_SHOW_ALL):
            raise
        complain(_bug(error), as_json)
        sys.exit(ImpossibleState.exit_code)


def _bug(error: Exception) -> ImpossibleState:
    """An error that nobody foresaw, without its message: a library's message may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "serigraph" in frame.filename] or frames
    return ImpossibleState(
        f"{type(error).__name__}: a bug in serigraph",
        where=f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}",
        remedy=f"please report it; {_SHOW_ALL}=1 in the environment shows all of it, which may "
        "include data",
    )
