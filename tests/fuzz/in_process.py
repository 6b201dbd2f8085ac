"""Cases in one process, one after the other; a line of JSON before and after each of them.

A process that hangs or dies has said which case it was at: ``python -m fuzz`` goes on behind it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from cli.running import run
from fuzz.cases import make_case, template
from fuzz.judging import complaint, releases


def judged(seed: int, series: Path) -> str:
    """What is wrong with how the case of a seed ended, and how it ended; empty if nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        case = make_case(seed, series, Path(folder))
        before = releases(case.series)
        ran = run(*case.arguments)
        wrong = complaint(case, ran.code, ran.out + ran.err, before)
        return f"{wrong}: {case.arguments[0]}, {ran.code}, {ran.err[:400]}" if wrong else ""


def main(first: int, number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        series = template(Path(folder))
        for seed in range(first, first + number):
            print(json.dumps({"begun": seed}), flush=True)
            print(json.dumps({"ended": seed, "wrong": judged(seed, series)}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
