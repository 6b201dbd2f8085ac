"""Functions sent to executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from serigraph._version import __version__
from serigraph.engines.spark.failures import OTHER_VERSION

Task = Callable[[Iterator[Any]], Iterator[Any]]


def of_this_version(task: Task) -> Task:
    """The task, to be run only where serigraph has the driver's version.

    Executors that join later were not asked when the session was made; a task that ran other code
    there could decide differently.
    """
    expected = __version__

    def checked(batches: Iterator[Any]) -> Iterator[Any]:
        from serigraph._version import __version__ as found

        if found != expected:
            raise ImportError(OTHER_VERSION)
        yield from task(batches)

    return checked
