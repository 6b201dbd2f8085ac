"""The commands together, and how a run ends.

Exit codes: 0 done; 2 wrong use of the command line; 3 the table, the registry or the policy is
refused; 4 the promise could not be kept, nothing was published; 5 published already; 6 the series
is missing, busy or damaged; 7 the disk is full or cannot be written; 8 Spark cannot do the work;
9 done, but the result could not be told; 10 not enough memory; 70 a bug; 130 interrupted; 143 ended
by SIGTERM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
from serigraph.cli.limited_memory import is_memory_limited, supervised
from serigraph.cli.output import complain
from serigraph.cli.streams import Telling, standard_streams
from serigraph.cli.unforeseen import SHOW_ALL, as_known
from serigraph.errors import NotTold, SerigraphError

app = typer.Typer(
    name="serigraph",
    help="Publish microdata again and again, under one guarantee over the whole series.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_INTERRUPTED = 130
_NOT_TOLD = NotTold(
    "the command is done, but standard output did not take what it says",
    where="a full disk, or a reader that is gone",
    remedy="'serigraph status' says which releases are out",
)

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
    if is_memory_limited():
        code = supervised(
            lambda telling: _told(_run, telling), lambda error: _told(lambda: _complained(error))
        )
    else:
        code = _told(_run)
    sys.exit(code)


def _told(run: Callable[[], int], telling: Telling | None = None) -> int:
    """The exit code of what is run, or that what it said could not be told."""
    with standard_streams(telling) as out:
        code = run()
        out.flush()
        return _complained(_NOT_TOLD) if out.has_failed and code == 0 else code


def _complained(error: SerigraphError) -> int:
    complain(error, as_json="--json" in sys.argv)
    return error.exit_code


def _run() -> int:
    """Run a command, and say what went wrong; returns the exit code."""
    try:
        app()
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # Typer ends so without a word
            return _interrupted()
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # before or after Typer looks out for it
        return _interrupted()
    except BaseException as error:  # a library's panic is no Exception
        if os.environ.get(SHOW_ALL) and not isinstance(error, SerigraphError):
            raise
        return _complained(as_known(error, is_memory_limited()))
    return 0


def _interrupted() -> int:
    """Say so: the release may be out, since that hangs on a single commit."""
    print("Interrupted: 'serigraph status' says which releases are out.", file=sys.stderr)
    return _INTERRUPTED
