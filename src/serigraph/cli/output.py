"""How results, errors and progress reach the user."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from serigraph.errors import SerigraphError

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def say(text: str = "") -> None:
    """Print a line of a result."""
    typer.echo(text)


def print_json(result: object) -> None:
    """Print a result for machines."""
    typer.echo(json.dumps(plain(result), indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """A result in the types of JSON; exact numbers become text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value


def complain(error: SerigraphError, as_json: bool) -> None:
    """Say what went wrong, on standard error; as JSON too where the user asked for it."""
    name = type(error).__name__
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "error": name,
                    "what": error.what,
                    "where": error.where,
                    "remedy": error.remedy,
                    "problems": list(error.problems),
                },
                indent=2,
                ensure_ascii=False,
            )
        )
    print(f"{name}: {error}", file=sys.stderr)


def percent(part: float) -> str:
    return f"{part:.1%}"


@contextmanager
def stages(names: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A progress bar over named stages on a terminal; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(names[0], total=len(names))

        def enter(name: str) -> None:
            done = names.index(name) if name in names else 0
            progress.update(task, description=name, completed=done, refresh=True)

        yield enter
