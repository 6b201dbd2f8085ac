"""Two processes compile what a release needs, and a release needs just that."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouping.releases import generated, plan
from serigraph.engines import make_release
from serigraph.engines.compiling import compile_ahead, compile_first, compile_last
from serigraph.engines.plan import Form
from serigraph.grouping import kernels as grouping
from serigraph.population import History
from serigraph.randomness import SeededRandomness
from serigraph.recoding import kernels as recoding
from serigraph.verification import kernels as verification

KERNELS: list[Any] = [
    grouping.find_leaves,
    grouping.arrange,
    grouping.check_leaves,
    grouping.merge_districts,
    grouping.cut_down,
    grouping.deal_cells,
    grouping.write_groups,
    recoding.extend,
    verification.compose,
    verification.survey_members,
    verification.first_overlap,
    verification.survey_exposures,
]


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_a_release_uses_what_was_compiled_ahead(form: Form) -> None:
    compile_first()
    compile_last()
    ahead = [set(kernel.signatures) for kernel in KERNELS]
    population = generated("uniform", "frequent", 17_000, np.random.default_rng(1))
    make_release(population, History.none(17_000), plan(form, "top-down"), SeededRandomness(1))
    assert [set(kernel.signatures) for kernel in KERNELS] == ahead
    assert all(ahead)


def test_a_second_process_begins_where_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    process = compile_ahead()
    assert process is not None
    try:
        while process.poll() is None and not any(tmp_path.rglob("*.nbi")):
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert any(tmp_path.rglob("*.nbi"))
    assert compile_ahead() is None
