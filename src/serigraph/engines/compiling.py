"""Kernels are compiled by the first release on a machine, ahead of their use: a small release is
made up and released, in each form. Later releases load them the same way.

Numba does so in a separate thread. An interrupt strikes the main thread, wherever it is: inside
Numba it would leave a lock closed that other threads wait for.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import Future
from contextlib import suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from threading import Thread

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.engines.earlier_releases import remembered
from serigraph.engines.interface import Form, Plan
from serigraph.engines.local import make_release
from serigraph.errors import Infeasible
from serigraph.grouping.districts import DISTRICT
from serigraph.model import Domain, Past, Population, ProtectedValue
from serigraph.privacy import ConstantRatio
from serigraph.runtime.cache_folder import is_temporary
from serigraph.runtime.kernel_cache import is_kept, kernel_folder, loaded_kernels, write_whole
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.randomness import SeededRandomness
from serigraph.runtime.threads import wait_interruptibly

_VALUES = 20  # protected values
_SIDE = math.isqrt(4 * DISTRICT)  # of the smallest square with enough people for districts
_FEW = 64  # people per holder, in the release with few holders


def ready_kernels(progress: Progress = no_progress) -> Future[None]:
    """Start loading the kernels; the future completes when they are there, and the table can be
    read meanwhile. If this installation has not compiled them yet, waits until that is done."""
    ready: Future[None] = Future()

    def make_ready() -> None:
        try:
            load_kernels()
        except BaseException as error:
            ready.set_exception(error)
        else:
            ready.set_result(None)

    is_compiled = _is_compiled()
    # An interrupt must not have to wait until everything is compiled.
    Thread(target=make_ready, daemon=True).start()
    if not is_compiled:
        once = "for this run" if is_temporary(kernel_folder().parent) else "once per installation"
        progress(f"compiling, {once}")
        wait_interruptibly(ready)
    return ready


@cache
def load_kernels() -> None:
    """Load what a release needs, once per process; what is not in the cache is compiled."""
    is_compiled = _is_compiled()
    rehearse()
    if not is_compiled:
        with suppress(OSError):  # if it cannot be written, nothing was cached either
            write_whole(_marker(), json.dumps(loaded_kernels()))


def _is_compiled() -> bool:
    """Whether everything that a release needs was compiled, and is still there unchanged."""
    try:
        return all(map(is_kept, json.loads(_marker().read_bytes())))
    except (OSError, ValueError, TypeError):  # TypeError: JSON, but not a list of names
        return False


def _marker() -> Path:
    """Lists the kernels that a release needs."""
    return kernel_folder() / "release.json"


def rehearse() -> None:
    """Make small releases in each form, and one that is infeasible because of people's pasts. (The
    larger ones are large enough for districts: everything is called with the types of any release.
    The smallest come first: they leave no work to other threads, which an interrupted program would
    have to wait for.)"""
    forms: tuple[Form, Form] = ("bucketised", "generalised")
    for size in (_SIDE, _SIDE**2):
        people = np.arange(size)
        few = np.where((people % _FEW == 0) & (people < size // 2), people % _VALUES, -1)
        for form, held in zip(forms, (people % _VALUES, few), strict=True):
            _make(_population(held), Past.none(size), _plan(form))
    together = np.zeros((size, 1), dtype=np.int32)
    spent = Past.of_groups(together, lengths=[1], value=[0], count=[1], size=[2])
    with suppress(Infeasible):
        _make(_population(few), spent, _plan("bucketised"))


def _make(population: Population, past: Past, plan: Plan) -> None:
    earlier = remembered(population.ids, population.protected_names, past)
    make_release(population, past, earlier, plan, SeededRandomness(0))


def _population(held: NDArray[np.int64]) -> Population:
    """People on a square, each with the number of a value, or -1."""
    people = np.arange(len(held))
    names = [f"value {number}" for number in range(_VALUES)]
    return Population(
        ids=pl.Series(people),
        present=np.ones(len(people), dtype=np.bool_),
        domains=tuple(Domain(name, "numeric", pl.Series(range(_SIDE))) for name in "xy"),
        codes=np.stack([people % _SIDE, people // _SIDE]).astype(np.int32),
        protected=tuple(ProtectedValue(name, Fraction(1, 2)) for name in names),
        held_start=np.concatenate([[0], np.cumsum(held >= 0)]),
        held=held[held >= 0].astype(np.int32),
        values=pl.Series([*names, "none"])
        .gather(held % (_VALUES + 1))
        .reshape((-1, 1))
        .arr.to_list(),
        digest="",
    )


def _plan(form: Form) -> Plan:
    return Plan(
        label="made up",
        strategy=ConstantRatio(2),
        form=form,
        method="top-down",
        minimum_size=1,
        is_presence_known=False,
        allows_suppression=False,
        sensitive="value",
    )
