"""Cases through the command, in surroundings that are odd as well."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz.cases import UNSPOILT, Case, make_case
from fuzz.judging import LONGEST, complaint, releases

COMMAND = [sys.executable, "-m", "serigraph"]
LISTENERS = {
    "as usual": '"$@"',
    "output full": '"$@" > /dev/full',
    "output closed": '"$@" >&-',
    "reader gone": '"$@" | true; exit ${PIPESTATUS[0]}',
    "errors closed": '"$@" 2>&-',
    "errors full": '"$@" 2> /dev/full',
    "all closed": '"$@" <&- >&- 2>&-',
}
PLACES = (b"/here", b"/here", b"/here", b"/\xc3\xbc", b"/not \xff\xfe utf-8")
NOT_TOLD, MEMORY = 9, 10
_LONGEST = 100_000  # characters of an argument: no shell passes on many more


def judged(seed: int, series: Path) -> str:
    """What is wrong with how the case of a seed ended; empty if nothing is."""
    # The process that compiles for a damaged cache may still be at work.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        draw = Random(seed)
        case = _moved(_made(seed, series, Path(folder)), Path(folder), draw.choice(PLACES))
        before = releases(case.series)
        listener = draw.choice(list(LISTENERS))
        environment = {**os.environ, **_odd_environment(draw, folder)}
        try:
            done = _run(case, listener, environment)
        except subprocess.TimeoutExpired:
            return "hang"
        code = done.returncode
        if code == NOT_TOLD and listener not in ("as usual", "errors closed", "errors full"):
            code = 0  # done, which is compared with what is out
        wrong = complaint(case, code, done.stdout + done.stderr, before)
        about = f"{case.arguments[0]}, {listener}, {done.returncode}, {done.stderr[-400:]}"
        return f"{wrong}: {about}" if wrong else ""


def under_limit(megabytes: int, series: Path) -> str:
    """What is wrong with how a publish under a limit on memory ended; empty if nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        case = make_case(UNSPOILT, series, Path(folder))
        before = releases(case.series)
        limit = megabytes << 20
        try:
            done = _run(
                case,
                "as usual",
                dict(os.environ),
                lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            )
        except subprocess.TimeoutExpired:
            return "hang"
        if done.returncode == MEMORY:
            wrong = "" if "MemoryExhausted: " in done.stderr else "it was not said"
            return wrong or ("" if releases(case.series) == before else "a release is out")
        return complaint(case, done.returncode, done.stdout + done.stderr, before)


def _made(seed: int, series: Path, folder: Path) -> Case:
    made = folder / "made"
    made.mkdir()
    return make_case(seed, series, made)


def _moved(case: Case, folder: Path, place: bytes) -> Case:
    """The same case in another folder."""
    made, target = case.series.parent, Path(os.fsdecode(os.fsencode(folder) + place))
    made.rename(target)
    arguments = [each.replace(str(made), str(target))[:_LONGEST] for each in case.arguments]
    return Case(case.seed, arguments, target / "series")


def _run(
    case: Case,
    listener: str,
    environment: dict[str, str],
    prepare: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", LISTENERS[listener], "bash", *COMMAND, *case.arguments],
        cwd=case.series.parent,
        env=environment,
        preexec_fn=prepare,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        timeout=LONGEST,
    )


def _odd_environment(draw: Random, folder: str) -> dict[str, str]:
    odd: dict[str, str] = {}
    match draw.randrange(10):
        case 0:
            odd["PYTHONIOENCODING"] = "ascii"
        case 1:
            odd |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        case 2:
            odd["TMPDIR"] = f"{folder}/there is none"
        case 3:
            odd |= {"HOME": "", "TERM": "dumb", "COLUMNS": "-1"}
        case 4 if "NUMBA_CACHE_DIR" in os.environ:
            odd["NUMBA_CACHE_DIR"] = _damaged_cache(draw, folder)
    return odd


def _damaged_cache(draw: Random, folder: str) -> str:
    """A copy of the cache in which one file of each kind is noise."""
    copy = f"{folder}/cache"
    shutil.copytree(os.environ["NUMBA_CACHE_DIR"], copy)
    for ending in ("nbi", "nbc", "json"):
        found = sorted(Path(copy).rglob(f"recoding_*/*.{ending}"))
        if found:
            draw.choice(found).write_bytes(draw.randbytes(99))
    return copy
