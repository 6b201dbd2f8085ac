"""Two processes compile what a release needs, and a release needs just that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouping.releases import generated, plan
from serigraph.engines import compiling, make_release
from serigraph.engines.compiling import (
    compile_ahead,
    compile_first,
    compile_last,
    load_kernels,
)
from serigraph.engines.interface import Form
from serigraph.grouping import kernels as grouping
from serigraph.model import Past
from serigraph.recoding import kernels as recoding
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases, exactly, regions, survival

PACKAGE = Path(compiling.__file__).parents[1]
KERNELS: list[Any] = [
    grouping.find_leaves,
    grouping.arrange,
    grouping.check_cells,
    grouping.find_neediest,
    grouping.largest_targets,
    grouping.cut_down,
    grouping.deal_cells,
    grouping.number_alike,
    grouping.write_groups,
    recoding.extend,
    survival._multiply,
    survival._compare,
    exactly._find,
    regions._first_overlap,
]


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_a_release_uses_what_was_compiled_ahead(form: Form) -> None:
    compile_first()
    compile_last()
    ahead = [set(kernel.signatures) for kernel in KERNELS]
    population = generated("uniform", "frequent", 17_000, np.random.default_rng(1))
    nothing = Past.none(17_000), RememberedReleases()
    make_release(population, *nothing, plan(form, "top-down"), SeededRandomness(1))
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
    assert not compiling._is_compiled()


def test_what_is_not_compiled_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the other process must not compile the same meanwhile."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    loaded: list[str] = []
    for name in ("compile_first", "compile_last"):
        monkeypatch.setattr(compiling, name, partial(loaded.append, name))
    load_kernels.cache_clear()
    load_kernels()
    assert loaded == []
    for part in ("first", "last"):
        compiling._mark(part)
    load_kernels.cache_clear()
    load_kernels()
    load_kernels()
    assert loaded == ["compile_first", "compile_last"]


def test_the_first_release_of_an_installation_says_that_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # nothing is left to another process
    for name in ("compile_first", "compile_last"):
        monkeypatch.setattr(compiling, name, lambda: None)
    (tmp_path / "of_another_installation.nbi").touch()
    said: list[str] = []
    for _ in range(2):
        load_kernels.cache_clear()
        compiling.ready_kernels(lambda stage, *_: said.append(stage)).result()
    assert said == ["compiling, once per installation"]


def test_the_second_process_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(compiling, "compile_ahead", lambda: other)
    compiling.ready_kernels().result()
    assert other.stdin is not None
    other.stdin.close()
    while other.returncode is None:  # set by the thread that waits
        time.sleep(0.01)


def test_what_the_processes_share_is_compiled_by_one_of_them(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def run(*arguments: str, package: Path = PACKAGE) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    run("-m", "serigraph.engines.compiling")
    found = run(
        "-c",
        "from serigraph.engines.compiling import compile_first\n"
        "from serigraph.grouping.kernels import board_of, list_cuts\n"
        "compile_first()\n"
        "for each in (board_of.stats, list_cuts.stats):\n"
        "    print(sum(each.cache_hits.values()), sum(each.cache_misses.values()))\n",
    )
    assert found.split() == ["1", "0", "1", "0"]

    ask = "from serigraph.engines.compiling import _is_compiled; print(_is_compiled())"
    assert run("-c", ask).split() == ["False"], "one process may not speak for both"
    compiled = "from serigraph.engines.compiling import compile_ahead; compile_ahead().wait()"
    run("-c", compiled)
    assert run("-c", ask).split() == ["True"]
    another = tmp_path / "another" / "serigraph"
    shutil.copytree(PACKAGE, another, ignore=shutil.ignore_patterns("__pycache__"))
    assert run("-c", ask, package=another).split() == ["False"], "Numba would compile anew"


@pytest.mark.parametrize("content", ["5", "null", "[1]", "{", ""])
def test_a_damaged_note_of_what_is_compiled_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for part in ("first", "last"):
        compiling._marker(part).write_text(content)
    assert not compiling._is_compiled()
