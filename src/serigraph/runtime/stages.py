"""Progress for people: a bar on a terminal, a line in a notebook, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from serigraph.runtime.progress import Progress, no_progress

Options = ParamSpec("Options")
Result = TypeVar("Result")


def shows_progress(
    names: Sequence[str],
) -> Callable[[Callable[Options, Result]], Callable[Options, Result]]:
    """A function that shows its stages by itself, unless the caller passes ``progress``."""

    def decorated(function: Callable[Options, Result]) -> Callable[Options, Result]:
        @wraps(function)
        def with_progress(*args: Options.args, **options: Options.kwargs) -> Result:
            if options.get("progress") is not None:
                return function(*args, **options)
            with stages(names) as progress:
                options["progress"] = progress
                return function(*args, **options)

        return with_progress

    return decorated


@contextmanager
def stages(names: Sequence[str]) -> Iterator[Progress]:
    """Progress over named stages, where somebody can see it."""
    if (display := _display_of_notebook()) is not None:
        with _line(names, display) as show:
            yield show
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar(names) as show:
            yield show
    else:
        yield no_progress


def _display_of_notebook() -> Any:
    """IPython's way to show something, inside a notebook."""
    if "IPython" not in sys.modules:
        return None
    from IPython import display, get_ipython

    shell: Any = get_ipython()
    return display if type(shell).__name__ == "ZMQInteractiveShell" else None


@contextmanager
def _line(names: Sequence[str], display: Any) -> Iterator[Progress]:
    """One line that is replaced, and gone at the end."""
    handle = display.display(display.Markdown(f"*{names[0]} ...*"), display_id=True)

    def show(stage: str, done: int = 0, total: int = 1, /) -> None:
        number = names.index(stage) + 1 if stage in names else 0
        place = f" ({number} of {len(names)})" if number else ""
        share = f", {done / total:.0%}" if done else ""
        handle.update(display.Markdown(f"*{stage}{place}{share} ...*"))

    try:
        yield show
    finally:
        handle.update(display.Markdown(""))


@contextmanager
def _bar(names: Sequence[str]) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # a pipe gets the output while the bar is shown
    ) as bar:
        task = bar.add_task(names[0], total=len(names))

        def show(stage: str, done: int = 0, total: int = 1, /) -> None:
            before = names.index(stage) if stage in names else 0
            shown = f"{stage} {done / total:.0%}" if done else stage
            bar.update(task, description=shown, completed=before + done / total, refresh=True)

        yield show
