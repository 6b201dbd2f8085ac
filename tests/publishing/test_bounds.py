"""No kernel reads or writes beyond its arrays. Compiled code does not look out for that: here some
tests run once more, in a process whose kernels do. `make coverage` runs most of them with kernels
as plain Python, which looks out for it too, and with fewer cases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CHECKED = [
    "grouping/test_cuts.py",
    "grouping/test_groups_against_naive.py",
    "grouping/test_known_problems.py",
    "grouping/test_past.py",
    "publishing/test_kinds_of_people.py",
    "verification/test_verify.py",
]
SLOW = "test_who_has_spent_most"  # thousands of releases, of a kind that the others have as well


@pytest.mark.thorough
def test_no_kernel_reaches_beyond_its_arrays(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
            *("-k", f"not {SLOW}", *CHECKED),
        ],
        cwd=TESTS,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
