"""Kernels are compiled by the first release on a machine; a second process takes a part of it."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from serigraph.grouping import Demand, kernels, whole_box, whole_cell
from serigraph.grouping.districts import fitting_leaves, leaves
from serigraph.grouping.problem import facts, scratch
from serigraph.population import Domain, History, Population, ProtectedValue
from serigraph.privacy.targets import TargetRule
from serigraph.recoding import normalised_widths
from serigraph.verification import Proposal, verify


def compile_ahead() -> subprocess.Popen[bytes] | None:
    """Let another process begin with the kernels that a release needs last, if none is compiled
    yet: it puts them where this one will look for them."""
    compiled = Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")
    if os.cpu_count() == 1 or any(compiled):
        return None
    return subprocess.Popen(
        [sys.executable, "-m", "serigraph.engines.compiling"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def compile_last() -> None:
    """Form a group of two people and verify it, with the same kernels as any release."""
    population = Population(
        ids=pl.Series([1, 2]),
        present=np.ones(2, dtype=np.bool_),
        domains=(Domain("column", "numeric", pl.Series([0, 1])),),
        codes=np.array([[0, 1]], dtype=np.int32),
        protected=(ProtectedValue("value", Fraction(1, 2)),),
        held_start=np.array([0, 1, 1]),
        held=np.zeros(1, dtype=np.int32),
        values=pl.Series([["value"], ["other"]]),
        digest="",
    )
    history = History.none(2)
    demand = Demand(rules=(TargetRule((), (), 1.0),), minimum_size=1, interleave=True)
    weight = np.ones(2, dtype=np.uint8)
    f = facts(population, history, demand, weight, np.arange(2, dtype=np.uint64))
    s = scratch(1)
    order, slot = np.arange(2, dtype=np.uint32), np.zeros(2, dtype=np.uint32)
    group = np.zeros(2, dtype=np.int64)
    cells = whole_cell(2, whole_box(population.domains))
    # The other process begins with cutting, and goes on with what comes last here.
    kernels.list_cuts_of(f, s, order, cells)
    kernels.deal_cells(f, s, order, cells, slot)
    kernels.write_groups(order, order, cells, group[:1], slot, group)
    normalised_widths(population, group, 1)
    box = np.array([[0]], dtype=np.int32), np.array([[1]], dtype=np.int32)
    verify(
        population,
        history,
        Proposal(group, *box),
        presence_known=False,
        minimum_size=1,
        where="nowhere",
    )
    kernels.merge_neighbours(f, s, order, cells, True, True, slot)
    kernels.merge_siblings(f, s, order, cells, fitting_leaves(f, order, cells))
    leaves(population.codes, cells)


if __name__ == "__main__":
    compile_last()
