"""``serigraph serve``"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say


def command(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders with series [default: the current one]", metavar="[FOLDER]"),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For looking only: nothing can be changed.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine [default: a random one]")
    ] = 0,
    unix_socket: Annotated[
        Path | None,
        typer.Option("--socket", help="Listen on this Unix socket, of mode 600, instead."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Publish, plan and audit in the browser, on this machine only."""
    from serigraph.web import serve

    def tell(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            say(f"Serigraph is at {address}")
            if unix_socket is not None:
                say(f"It listens on {unix_socket}: forward a port to it, and add the port.")
            say("The address works once, in one browser. Stop with Ctrl+C.")
        sys.stdout.flush()

    serve(
        folders or (),
        read_only=read_only,
        port=port,
        unix_socket=unix_socket,
        open_browser=browser,
        tell=tell,
    )
