"""Run all cases and print the figures: ``cd tests && python -m fuzz``, or ``make fuzz``."""

from __future__ import annotations

import argparse
import json
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fuzz import through_command
from fuzz.cases import template
from fuzz.judging import LONGEST

_TOLD = 20  # cases between signs of life
_START = 240.0  # seconds until kernels are compiled and the first case begins


def in_process(first: int, number: int) -> Iterator[tuple[int, str]]:
    """Each seed, and what is wrong with its case; in processes that are left when they hang."""
    following = first
    while following < first + number:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "fuzz.in_process",
                str(following),
                str(first + number - following),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        at, patience = following, _START
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not ready.select(patience):
                    process.kill()
                    yield at, "hang"
                    break
                line = process.stdout.readline()
                if not line:
                    if at < first + number and process.wait():
                        yield at, f"traceback: it died with {process.returncode}"
                    break
                said = json.loads(line)
                patience = LONGEST
                if "ended" in said:
                    yield at, said["wrong"]
                at = said.get("begun", at + 1)
        process.communicate()
        following = at + 1 if at < first + number else at


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--cases", type=int, default=3000)
    asked.add_argument("--commands", type=int, default=300)
    asked.add_argument("--limits", type=int, default=40)
    asked.add_argument("--first", type=int, default=1)
    wanted = asked.parse_args()
    seeds = range(wanted.first, wanted.first + wanted.commands)
    limits = [100 + 3200 * number // max(wanted.limits, 1) for number in range(wanted.limits)]
    begun = time.monotonic()
    is_all_right = _told("in process", in_process(wanted.first, wanted.cases))
    with tempfile.TemporaryDirectory() as folder:
        series = template(Path(folder))
        is_all_right &= _told(
            "through the command", ((seed, through_command.judged(seed, series)) for seed in seeds)
        )
        is_all_right &= _told(
            "under a limit on memory",
            ((mb, through_command.under_limit(mb, series)) for mb in limits),
        )
    print(f"{time.monotonic() - begun:.0f} seconds")
    return 0 if is_all_right else 1


def _told(where: str, ended: Iterator[tuple[int, str]]) -> bool:
    """Print what went wrong, and then the figures."""
    kinds: Counter[str] = Counter()
    cases = 0
    for seed, wrong in ended:
        cases += 1
        if wrong:
            kind = wrong.partition(":")[0]
            kinds[kind if kind in ("traceback", "hang") else "wrong"] += 1
            print(f"  seed {seed}: {wrong}", flush=True)
        if cases % _TOLD == 0:
            print(f"  {cases:,} cases so far", flush=True)
    print(
        f"{where}: {cases:,} cases, {kinds['traceback']} tracebacks, {kinds['hang']} hangs, "
        f"{kinds['wrong']} wrong",
        flush=True,
    )
    return not kinds


if __name__ == "__main__":
    sys.exit(main())
