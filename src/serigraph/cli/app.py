"""All commands, and how a run ends.

Exit codes: 0 done; 2 wrong use of the command line; 3 the table, the registry or the policy is
refused; 4 the promise cannot be kept, nothing was published; 5 already published; 6 the series
is missing, busy or damaged; 7 the disk is full or cannot be written; 8 Spark cannot do the work;
9 done, but the result could not be shown; 10 out of memory; 70 a bug; 130 interrupted; 143 ended by
SIGTERM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from serigraph._version import __version__
from serigraph.cli import (
    approve,
    attack,
    audit,
    draft,
    drafts,
    evaluate,
    export,
    history,
    init,
    key,
    plan,
    publish,
    report,
    reproduce,
    serve,
    simulate,
    status,
    taxonomy,
    verify,
)
from serigraph.cli.limited_memory import is_memory_limited, supervised
from serigraph.cli.output import complain
from serigraph.cli.streams import Writing, standard_streams
from serigraph.errors import NotTold, SerigraphError
from serigraph.runtime.unforeseen import SHOW_ALL, as_known

app = typer.Typer(
    name="serigraph",
    help="Publish microdata repeatedly, under one guarantee for the whole series.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_INTERRUPTED = 130
_NOT_TOLD = NotTold(
    "the command succeeded, but its output could not be written",
    where="the disk is full, or the pipe was closed",
    remedy="'serigraph status' shows which releases are out",
)

for name, module in {
    "init": init,
    "plan": plan,
    "publish": publish,
    "draft": draft,
    "drafts": drafts,
    "approve": approve,
    "status": status,
    "serve": serve,
    "history": history,
    "audit": audit,
    "attack": attack,
    "report": report,
    "verify": verify,
    "key": key,
    "taxonomy": taxonomy,
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
            lambda writing: _exit_code(_run, writing),
            lambda error: _exit_code(lambda: _complained(error)),
        )
    else:
        code = _exit_code(_run)
    sys.exit(code)


def _exit_code(run: Callable[[], int], writing: Writing | None = None) -> int:
    """The exit code of a run; `NotTold`'s if it succeeded but its output was lost."""
    with standard_streams(writing) as out:
        code = run()
        out.flush()
        return _complained(_NOT_TOLD) if out.has_failed and code == 0 else code


def _complained(error: SerigraphError) -> int:
    complain(error, as_json="--json" in sys.argv)
    return error.exit_code


def _run() -> int:
    """Run a command and report any error; returns the exit code."""
    try:
        app()
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # Typer says nothing
            return _interrupted()
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # before or after Typer handles it
        return _interrupted()
    except BaseException as error:  # a Rust panic is not an Exception
        if os.environ.get(SHOW_ALL) and not isinstance(error, SerigraphError):
            raise
        return _complained(as_known(error, is_memory_limited()))
    return 0


def _interrupted() -> int:
    """Report the interrupt: the release may be out, if its commit came first."""
    print("Interrupted: 'serigraph status' shows which releases are out.", file=sys.stderr)
    return _INTERRUPTED
