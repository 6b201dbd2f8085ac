"""Kernels are plain Python without the compiler, and say the same: small tests run that way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
SMALL = (
    "grouping/test_alike.py::test_numbers_are_those_of_a_plain_form",
    "grouping/test_cuts.py",
    "grouping/test_known_problems.py",
    "grouping/test_past.py",
    "verification/test_verify.py",
)


def test_small_tests_run_without_the_compiler() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-W", "ignore:overflow encountered in scalar multiply:RuntimeWarning"),  # it wraps
            *(str(TESTS / each) for each in SMALL),
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
