"""Compiled kernels are kept where nobody else can write, and loaded only as they were written."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from serigraph._version import __version__

ONE_KERNEL = """
import numpy as np
from serigraph.recoding.tables import _extend as extend
low, high = np.full((1, 1), 9, dtype=np.int32), np.zeros((1, 1), dtype=np.int32)
extend(np.array([[3, 5]], dtype=np.int32), np.zeros(2, dtype=np.int64), low, high)
print(low[0, 0], high[0, 0], int(extend.was_found))
from serigraph.runtime.kernel_cache import kernel_folder
print(kernel_folder())
"""
COMPILED, FOUND = ["3", "5", "0"], ["3", "5", "1"]
STAGES = """
from serigraph.engines.compiling import ready_kernels
from serigraph.runtime.threads import wait_interruptibly
wait_interruptibly(ready_kernels(lambda stage, *_: print(stage)))
"""


def run(program: str, **environment: str | Path | None) -> list[str]:
    """What a program says, word by word; a variable that is None is not set for it."""
    given = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={name: str(value) for name, value in given.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def one_kernel(**environment: str | Path | None) -> tuple[list[str], Path]:
    """What a kernel gives, whether it was found, and where it is kept."""
    *found, folder = run(ONE_KERNEL, **environment)
    return found, Path(folder)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with one kernel in it."""
    home = tmp_path_factory.mktemp("kept")
    one_kernel(XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=None)
    return home


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "a bit flipped": lambda content: content[:-200] + bytes([content[-200] ^ 1]) + content[-199:],
    "noise": lambda content: bytes(byte ^ 0x5A for byte in content),
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("ending", ["nbi", "nbc", "json"])
def test_a_damaged_kernel_is_compiled_anew(
    kept: Path, tmp_path: Path, ending: str, damage: str
) -> None:
    home = tmp_path / "home"
    shutil.copytree(kept, home)
    (file,) = home.rglob(f"*.{ending}")
    content = file.read_bytes().rjust(200, b" ")
    file.write_bytes(DAMAGES[damage](content))
    assert one_kernel(XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=None)[0] == COMPILED
    if damage == "zeros":
        assert one_kernel(XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=None)[0] == FOUND


class _Planted:
    """A pickle that leaves a trace where it is loaded."""

    def __init__(self, trace: Path) -> None:
        self._trace = str(trace)

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self._trace,)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_planted_pickle_is_not_loaded(kept: Path, tmp_path: Path, ending: str) -> None:
    home, trace = tmp_path / "home", tmp_path / "trace"
    shutil.copytree(kept, home)
    (file,) = home.rglob(f"*.{ending}")
    file.write_bytes(pickle.dumps(_Planted(trace)))
    assert one_kernel(XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=None)[0] == COMPILED
    assert not trace.exists()


def test_the_bar_says_that_a_damaged_cache_is_compiled_anew(tmp_path: Path) -> None:
    says = ["compiling,", "once", "per", "installation"]
    assert run(STAGES, NUMBA_CACHE_DIR=tmp_path) == says
    assert run(STAGES, NUMBA_CACHE_DIR=tmp_path) == []
    for code in tmp_path.rglob("recoding_*/*.nbc"):  # quick to compile
        code.write_bytes(b"")
    assert run(STAGES, NUMBA_CACHE_DIR=tmp_path) == says
    assert run(STAGES, NUMBA_CACHE_DIR=tmp_path) == []


def test_the_folder_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    _, folder = one_kernel(XDG_CACHE_HOME=home, NUMBA_CACHE_DIR=None)
    assert folder.parent == home / "serigraph" / __version__
    assert mode_of(folder.parent) == 0o700


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path, variable: str) -> None:
    given: dict[str, str | Path | None] = {"NUMBA_CACHE_DIR": None, variable: tmp_path / "base"}
    _, folder = one_kernel(**given)
    folder.parent.chmod(0o755)  # others can read it, but not write there
    assert one_kernel(**given) == (FOUND, folder)
    assert mode_of(folder.parent) == 0o755


def others_may_write(folder: Path) -> None:
    folder.chmod(0o777)


def others_may_write_their_own(folder: Path) -> None:
    folder.chmod(0o1777)  # as /tmp has it


def group_may_write_above(folder: Path) -> None:
    folder.parent.chmod(0o770)


def is_anothers(folder: Path) -> None:
    os.chown(folder, 12345, -1)


def is_anothers_above(folder: Path) -> None:
    os.chown(folder.parent, 12345, -1)


def is_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch()


def is_a_circle(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder)


@pytest.mark.parametrize(
    "spoil",
    [
        others_may_write,
        others_may_write_their_own,
        group_may_write_above,
        is_anothers,
        is_anothers_above,
        is_a_file,
        is_a_circle,
    ],
)
@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_a_folder_that_others_can_write_is_not_used(
    tmp_path: Path, variable: str, spoil: Callable[[Path], None]
) -> None:
    if spoil in (is_anothers, is_anothers_above) and os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    base = tmp_path / "base"
    wanted = base / "serigraph" / __version__
    wanted.mkdir(parents=True)
    spoil(wanted)
    before = wanted.lstat().st_mode
    given: dict[str, str | Path | None] = {"NUMBA_CACHE_DIR": None, variable: wanted}
    if variable == "XDG_CACHE_HOME":
        given[variable] = base
    temporary = tmp_path / "temporary"
    temporary.mkdir(mode=0o700)
    found, folder = one_kernel(**given, TMPDIR=temporary)
    assert found == COMPILED
    assert folder.is_relative_to(temporary)
    assert not any(temporary.iterdir()), "it goes with the process"
    assert wanted.lstat().st_mode == before


def test_the_temporary_folder_of_one_process_is_private_and_said_to_be_temporary(
    tmp_path: Path,
) -> None:
    program = (
        "from serigraph.runtime.cache_folder import cache_folder, is_temporary\n"
        "here = cache_folder()\n"
        "print(here, oct(here.stat().st_mode), is_temporary(here), is_temporary(here.parent))"
    )
    first, second = (run(program, HOME="/dev/null", XDG_CACHE_HOME=None) for _ in range(2))
    assert first[1:] == second[1:] == ["0o40700", "True", "False"]
    assert first[0] != second[0]


def test_the_folder_follows_the_environment(tmp_path: Path) -> None:
    numba, xdg, home = tmp_path / "numba", tmp_path / "xdg", tmp_path / "home"
    chosen = one_kernel(NUMBA_CACHE_DIR=numba, XDG_CACHE_HOME=xdg, HOME=home)[1]
    assert chosen.parent == numba
    chosen = one_kernel(NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=xdg, HOME=home)[1]
    assert chosen.is_relative_to(xdg / "serigraph")
    for unset in (None, "", "relative/path"):
        chosen = one_kernel(NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=unset, HOME=home)[1]
        assert chosen.is_relative_to(home / ".cache" / "serigraph")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_a_name_and_a_home_has_a_temporary_folder(tmp_path: Path) -> None:
    program = (
        "import os, shutil, tempfile, weakref\n"  # the interpreter may be closed to this user
        "from serigraph.runtime.cache_folder import cache_folder, is_temporary\n"
        "os.setuid(54321)\n"
        "print(is_temporary(cache_folder()), cache_folder())"
    )
    is_temporary, folder = run(program, XDG_CACHE_HOME=None, HOME=None)
    assert is_temporary == "True"
    assert not Path(folder).exists()


def test_numba_that_was_imported_before_uses_the_same_folder(tmp_path: Path) -> None:
    *_, folder = run("import numba\n" + ONE_KERNEL, NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=tmp_path)
    assert Path(folder).is_relative_to(tmp_path)


def test_a_umask_for_groups_does_not_cost_the_cache(tmp_path: Path) -> None:
    """Folders on the way to the cache that were not there are for their user alone, too."""
    program = f"import os; os.umask(0o002)\n{ONE_KERNEL}"
    home = tmp_path / "new" / "home"
    for expected in (COMPILED, FOUND):
        *found, folder = run(program, HOME=home, XDG_CACHE_HOME=None, NUMBA_CACHE_DIR=None)
        assert found == expected
    assert Path(folder).is_relative_to(home / ".cache" / "serigraph")
