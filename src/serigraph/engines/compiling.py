"""Kernels are compiled by the first release on a machine, in two processes: each begins with what
the other will need last, and finds in the cache what the other has compiled by then.

Whatever the processes do, Numba does it in a thread of its own. An interrupt strikes the main
thread, wherever it is: inside Numba it would leave a lock closed, for which other threads wait.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, cast

import numba
import numpy as np
import polars as pl
from llvmlite.binding import get_host_cpu_name
from numba import boolean, int64, typeof
from numpy.typing import NDArray

from serigraph.grouping import Demand, kernels, whole_box, whole_cell
from serigraph.grouping.districts import fitting, leaves
from serigraph.grouping.kernels import GroupingInput, Scratch
from serigraph.grouping.problem import facts, narrowed, scratch
from serigraph.model import Domain, Past, Population, ProtectedValue
from serigraph.privacy.targets import TargetRule
from serigraph.recoding import normalised_widths
from serigraph.runtime.cache_folder import is_temporary
from serigraph.runtime.kernel_cache import is_whole, notes_of
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.threads import wait_interruptibly
from serigraph.verification import Proposal, RememberedRelease, RememberedReleases, verify


def ready_kernels(progress: Progress = no_progress) -> Future[None]:
    """Begin to load the kernels, and say when they are there; the table can be read meanwhile. If
    this installation has not compiled them yet, that comes first, and is waited for."""
    ready: Future[None] = Future()

    def make_ready() -> None:
        other = None
        try:
            other = compile_ahead()
            if other is None:
                load_kernels()
        except BaseException as error:
            ready.set_exception(error)
        else:
            ready.set_result(None)
        if other is not None:
            other.wait()  # Python warns of a process that nobody waits for

    is_compiled = _is_compiled()
    # Whoever interrupts the program does not wait until everything is compiled.
    Thread(target=make_ready, daemon=True).start()
    if not is_compiled:
        once = "for this run" if is_temporary(_folder()) else "once per installation"
        progress(f"compiling, {once}")
        wait_interruptibly(ready)
    return ready


def compile_ahead() -> subprocess.Popen[bytes] | None:
    """If not all is compiled yet, compile what a release needs first, and let another process, if
    there is a processor for it, begin with what it needs last."""
    if _is_compiled():
        return None
    process = None
    if os.cpu_count() != 1:
        process = subprocess.Popen(
            [sys.executable, "-m", "serigraph.engines.compiling"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    # Compiling makes millions of objects that stay: to look for others among them takes long.
    gc.disable()
    try:
        compile_first()
        _mark("first")
        if process is None:
            compile_last()
            _mark("last")
    finally:
        gc.freeze()
        gc.enable()
    return process


@cache
def load_kernels() -> None:
    """Load what was compiled, once a process: Numba takes half a second for it."""
    if _is_compiled():
        compile_first()
        compile_last()


def _is_compiled() -> bool:
    """Whether all that was compiled is still there, and as it was."""
    try:
        noted = [json.loads(_marker(part).read_bytes()) for part in ("first", "last")]
        return all(is_whole(_folder() / name) for names in noted for name in names)
    except (OSError, ValueError, TypeError):  # TypeError: it is JSON, but no list of names
        return False


def _mark(part: str) -> None:
    """Note that this part is compiled; where that cannot be written, nothing was kept either."""
    noted = [str(path.relative_to(_folder())) for path in notes_of(_folder())]
    with suppress(OSError):
        _marker(part).parent.mkdir(parents=True, exist_ok=True)
        _marker(part).write_text(json.dumps(noted))


def _marker(part: str) -> Path:
    return _folder() / f"{part}-{_installation()}.compiled"


def _folder() -> Path:
    return Path(os.environ["NUMBA_CACHE_DIR"])


@cache
def _installation() -> str:
    """A digest of what Numba compares before it takes a kernel from its cache: the files of the
    kernels, where and as old as they are; its own version, Python's, and the processor."""
    kernels = sorted(Path(__file__).parents[1].rglob("kernels.py"))
    files = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in kernels]
    system = (sys.version, numba.__version__, get_host_cpu_name())
    return hashlib.sha256(repr((files, system)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Two:
    """Two people, one of whom holds a value, as kernels are given them in any release."""

    population: Population
    facts: GroupingInput
    scratch: Scratch
    order: NDArray[np.uint32]
    cells: NDArray[np.int64]

    @staticmethod
    def people() -> _Two:
        population = Population(
            ids=pl.Series([1, 2]),
            present=np.ones(2, dtype=np.bool_),
            domains=(Domain("column", "numeric", pl.Series([0, 1])),),
            codes=np.array([[0, 1]], dtype=np.int32),
            protected=(ProtectedValue("value", Fraction(1)),),
            held_start=np.array([0, 1, 1]),
            held=np.zeros(1, dtype=np.int32),
            values=pl.Series([["value"], ["other"]]),
            digest="",
        )
        demand = Demand(rules=(TargetRule((), (), 1.0),), minimum_size=1, interleave=True)
        weight, keys = np.ones(2, dtype=np.uint8), np.arange(2, dtype=np.uint64)
        return _Two(
            population,
            narrowed(facts(population, Past.none(2), demand, weight, keys)),
            scratch(1),
            np.arange(2, dtype=np.uint32),
            whole_cell(2, whole_box(population.domains)),
        )


def compile_first() -> None:
    """Draw districts of two people, number them, and cut the districts. Cuts, which take
    long, come last: the other process has compiled a good part of them by then."""
    two = _Two.people()
    f, s, order, cells = two.facts, two.scratch, two.order, two.cells
    slot, group = np.zeros(2, dtype=np.uint32), np.zeros(2, dtype=np.int64)
    codes = two.population.codes
    leaf = leaves(codes, cells)
    for held in (np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.bool_)):
        start = np.zeros(1, dtype=np.int64)
        kernels.arrange(leaf, 0, 2, start, codes, held, order, f.codes.copy(), held.copy())
    fitting(f, order, np.zeros(1, dtype=np.int64), cells)
    kernels.find_neediest(f, s, 0, 0, f.neediest)
    kernels.largest_targets(f, s, order, 0, 2)
    kernels.number_alike(f.codes, order, cells, group[:1], order.copy(), slot, order.copy())
    kernels.write_groups(order, order, cells, group[:1], slot, group)
    kernels.cut_down(f, s, order, cells, True, 1)


def compile_last() -> None:
    """Deal two people to groups, and verify these."""
    two = _Two.people()
    f, s, order, cells = two.facts, two.scratch, two.order, two.cells
    slot, group = np.zeros(2, dtype=np.uint32), np.zeros(2, dtype=np.int64)
    _list_cuts(two)
    kernels.deal_cells(f, s, order, cells, True, True, slot)
    box = np.array([[0]], dtype=np.int32), np.array([[1]], dtype=np.int32)
    one, nobody = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    before = RememberedRelease(
        two.population.ids, group, 2 * one, nobody, pl.Series(["value"]), one
    )
    verify(
        two.population,
        RememberedReleases((before,)),
        Proposal("generalised", group, *box),
        presence_known=False,
        minimum_size=1,
        where="nowhere",
    )
    normalised_widths(two.population, group, np.zeros(1, dtype=np.bool_))


def _list_cuts(two: _Two) -> None:
    """A good part of cutting cells, which only another kernel calls: the other process finds it in
    the cache if it is compiled for the very types of that call."""
    f, s, order, box = map(typeof, (two.facts, two.scratch, two.order, two.cells[0]))
    board_of, list_cuts = cast(Any, kernels.board_of), cast(Any, kernels.list_cuts)
    arguments = (f, s, order, *[int64] * 4)
    board_of.compile(arguments)
    board = board_of.overloads[arguments].signature.return_type
    list_cuts.compile((f, board, box, *[int64] * 5, *[boolean] * 2))


if __name__ == "__main__":
    gc.disable()
    compile_last()
    _mark("last")
