"""What a release needs is compiled ahead, and a release needs just that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grouping.releases import generated, plan
from serigraph.engines import compiling, make_release
from serigraph.engines.compiling import load_kernels, ready_kernels, rehearse
from serigraph.engines.interface import Form
from serigraph.model import Past
from serigraph.runtime import kernel_cache
from serigraph.runtime.kernel_cache import CachedKernel
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases

PACKAGE = Path(compiling.__file__).parents[1]


def compiled_for() -> dict[str, set[object]]:
    return {name: set(each.signatures) for name, each in kernel_cache._all.items()}


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_a_release_uses_what_was_compiled_ahead(form: Form) -> None:
    rehearse()
    ahead = compiled_for()
    population = generated("uniform", "frequent", 17_000, np.random.default_rng(1))
    nothing = Past.none(17_000), RememberedReleases()
    make_release(population, *nothing, plan(form, "top-down"), SeededRandomness(1))
    assert compiled_for() == ahead
    assert ahead["serigraph.grouping.cutting.cut_down"]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which nothing is, for one test; nothing is compiled in it either."""
    monkeypatch.setattr(compiling, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(kernel_cache, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(compiling, "rehearse", lambda: None)
    monkeypatch.setattr(compiling, "loaded_kernels", list)
    load_kernels.cache_clear()
    return tmp_path


def said_by(times: int) -> list[str]:
    said: list[str] = []
    for _ in range(times):
        load_kernels.cache_clear()
        ready_kernels(lambda stage, *_: said.append(stage)).result()
    return said


def test_the_first_release_of_an_installation_says_that_it_compiles(empty_cache: Path) -> None:
    (empty_cache / "of_another_installation.nbi").touch()
    assert said_by(2) == ["compiling, once per installation"]


def test_an_interrupted_compilation_is_gone_on_with(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel is there, but there is no note that all of them are."""
    (empty_cache / "kernel").mkdir()
    assert said_by(2) == ["compiling, once per installation"]
    monkeypatch.setattr(compiling, "loaded_kernels", lambda: ["kernel"])
    compiling._marker().unlink()
    assert said_by(2) == ["compiling, once per installation"] * 2, "the kernel is not whole"


@pytest.mark.parametrize("content", ["5", "null", "[1]", "{", ""])
def test_a_damaged_note_of_what_is_compiled_is_none(empty_cache: Path, content: str) -> None:
    compiling._marker().write_text(content)
    assert said_by(1) == ["compiling, once per installation"]


def test_an_error_of_the_thread_is_the_error_of_the_release(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(compiling, "rehearse", fail)
    with pytest.raises(MemoryError):
        ready_kernels()


def test_another_installation_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """So has one with an edit in any module with kernels, whether or not Numba would notice."""

    def folder_of(package: Path) -> str:
        asked = "from serigraph.runtime.kernel_cache import kernel_folder; print(kernel_folder())"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        environment["PYTHONPATH"] = str(package.parent)
        done = subprocess.run(
            [sys.executable, "-c", asked],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    another = tmp_path / "another" / "serigraph"
    shutil.copytree(PACKAGE, another, ignore=shutil.ignore_patterns("__pycache__"))
    found = {folder_of(PACKAGE), folder_of(another)}
    with (another / "grouping" / "counts.py").open("a") as module:
        module.write("# edited\n")
    found.add(folder_of(another))
    with (another / "errors.py").open("a") as module:
        module.write("# no kernel\n")
    assert folder_of(another) in found
    assert len(found) == 3


def test_kernels_are_found_by_name() -> None:
    rehearse()
    assert "serigraph.grouping.cutting.cut_down" in kernel_cache.loaded_kernels()
    assert all(isinstance(each, CachedKernel) for each in kernel_cache._all.values())
