"""Work shared among threads: Polars, Arrow, NumPy and kernels release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.progress import Report

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Number = TypeVar("_Number", bound=np.generic)

TOGETHER = 1 << 16  # numbers that fit a processor's cache, with NumPy's intermediate results

_NOTICED = 0.1  # seconds until an interrupt is noticed


def threads() -> int:
    """How many threads can work at the same time."""
    return os.cpu_count() or 1


def parallel_map(
    work: Callable[[_Item], _Result],
    items: Iterable[_Item],
    report: Report = lambda _done, _total: None,
) -> list[_Result]:
    """The result for each item, in the order of the items."""
    todo, results = list(items), []
    with ThreadPoolExecutor(threads()) as pool:
        for result in pool.map(work, todo):
            results.append(result)
            report(len(results), len(todo))
    return results


def wait_interruptibly(future: Future[_Result]) -> _Result:
    """The future's result, however long it takes. Once Polars is imported, a signal does not end a
    wait: only repeated short waits can be interrupted."""
    while not future.done():
        wait([future], timeout=_NOTICED)
    return future.result()


def parallel_take(
    source: NDArray[_Number], places: NDArray[np.integer], out: NDArray[_Number] | None = None
) -> NDArray[_Number]:
    """The items at these places, which must exist. (NumPy checks them first, with another copy,
    unless it is told to clip.)"""
    found = np.empty((len(places), *source.shape[1:]), dtype=source.dtype) if out is None else out
    parallel_map(
        lambda part: np.take(source, places[part], axis=0, out=found[part], mode="clip"),
        slices(len(places)),
    )
    return found


def slices(length: int, longest: int | None = None) -> list[slice]:
    """A range cut into parts that threads can share; none is longer than ``longest``.

    >>> [part.stop for part in slices(0)], [part.stop for part in slices(5, longest=2)][-2:]
    ([0], [4, 5])
    """
    step = max(-(-length // threads()), 1)
    step = step if longest is None else min(step, longest)
    return [slice(begin, min(begin + step, length)) for begin in range(0, max(length, 1), step)]
