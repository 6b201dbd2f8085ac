"""How results, errors and progress reach the user."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from serigraph.cli.limited_memory import is_memory_limited
from serigraph.errors import SerigraphError
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.stages import stages as shown

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def say(text: str = "") -> None:
    """Print one line of a result."""
    typer.echo(text)


def print_json(result: object) -> None:
    """Print a result for machines."""
    _echo_json(plain(result))


def _echo_json(result: object) -> None:
    # Escape what the stream cannot encode by JSON's rules, not by the stream's.
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(result, indent=2, ensure_ascii=not is_unicode))


def plain(value: Any) -> Any:
    """A result as JSON types; exact numbers become text."""
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
    """Print the error to standard error, and as JSON to standard output if asked."""
    name = type(error).__name__
    if as_json:
        _echo_json(
            {
                "error": name,
                "what": error.what,
                "where": error.where,
                "remedy": error.remedy,
                "problems": list(error.problems),
            }
        )
    print(f"{name}: {error}", file=sys.stderr)


def percent(part: float) -> str:
    return f"{part:.1%}"


@contextmanager
def stages(names: Sequence[str]) -> Iterator[Progress]:
    """A progress bar over named stages, on a terminal only. Not under a memory limit: the bar would
    keep moving while nothing else does."""
    if is_memory_limited():
        yield no_progress
        return
    with shown(names) as progress:
        yield progress
