"""`make faults`: every fault at every operation on files, and what the next commands find.

recovered   the release is wholly there or wholly absent, and the next ones can be published
lost        a release, or what a command had said that it did, is gone
half        anything else that does not fit: files without a ledger, a misleading exit code
tracebacks  an error that is not one of Serigraph's
hangs       a command that does not end
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from faults.scenarios import (
    OUTCOMES,
    PUBLISHING_A_DRAFT,
    RECOVERED,
    SCENARIOS,
    Scenario,
    Verdict,
    scenario_of,
)
from faults.shim import Commands, Fault

ERRORS = {
    "I/O error": Fault.INPUT_OUTPUT,
    "full disk": Fault.FULL_DISK,
    "no memory": Fault.NO_MEMORY,
}
POWER_CUT = "power cut"
KINDS = (POWER_CUT, *ERRORS)
_LONGEST = PUBLISHING_A_DRAFT
_CHOICES = [("kept", 0), ("lost", 0), *(("mixed", seed) for seed in range(40))]


def after_power_cuts(
    scenario: Scenario, commands: Commands, scratch: Path, share: float = 1.0
) -> Iterator[tuple[str, Verdict]]:
    """A cut at each moment: of what was not safe by then everything is kept, everything is lost,
    or some of it. A state of the disk is looked at once."""
    disk, _ = scenario.record(commands, scratch)
    draw, seen = random.Random(1), set()
    for at in range(len(disk)):
        for choice, seed in _CHOICES:
            state = (at == len(disk) - 1, *disk.after_cut(at, choice, seed).items())
            if state not in seen and draw.random() < share:
                verdict = scenario.after_cut(disk, at, choice, seed, scratch / "case")
                shutil.rmtree(scratch / "case")
                yield f"before change {at}, {choice} {seed}", verdict
            seen.add(state)


def after_errors(
    scenario: Scenario, commands: Commands, scratch: Path, fault: Fault, share: float = 1.0
) -> Iterator[tuple[str, Verdict]]:
    """A fault at each operation, whether it changes anything or not."""
    _, operations = scenario.record(commands, scratch)
    draw = random.Random(1)
    for at in range(operations):
        if draw.random() < share:
            verdict = scenario.after_fault(commands, fault, at, scratch / "case")
            shutil.rmtree(scratch / "case")
            if verdict:
                yield f"at operation {at}", verdict


def counted(scenario: str, kind: str, share: float) -> Counter[str]:
    """The outcomes of one kind of fault in one scenario; what is not well is said."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Commands() as commands:
        scratch = Path(folder)
        made = scenario_of(scenario, scratch, commands)
        for place, verdict in cases(made, kind, commands, scratch, share):
            found[verdict.outcome] += 1
            if verdict.outcome != RECOVERED:
                about = f"{verdict.outcome}: {scenario}, {kind} {place}"
                print(f"{about}: {verdict.reason}", file=sys.stderr)
    return found


def cases(
    scenario: Scenario, kind: str, commands: Commands, scratch: Path, share: float = 1.0
) -> Iterator[tuple[str, Verdict]]:
    """All cases of a kind, or a share of them, with the place of each."""
    if kind == POWER_CUT:
        return after_power_cuts(scenario, commands, scratch, share)
    return after_errors(scenario, commands, scratch, ERRORS[kind], share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of all cases, chosen at random")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    print(f"{'':29}{'':9}{'cases':>11}" + "".join(f"{name:>11}" for name in OUTCOMES))
    with ProcessPoolExecutor(chosen.processes, multiprocessing.get_context("spawn")) as pool:
        jobs = list(itertools.product(chosen.scenarios, chosen.kinds))
        # The longest first, so that none is left to one process at the end.
        in_turn = sorted(jobs, key=lambda job: job[0] != _LONGEST)
        running = {job: pool.submit(counted, *job, chosen.share) for job in in_turn}
        for scenario, kind in jobs:
            found = running[scenario, kind].result()
            print(_row(scenario, kind, found), flush=True)
            total += found
    print(_row("together", "", total))
    sys.exit(total.total() != total[RECOVERED])


def _row(name: str, kind: str, counted: Counter[str]) -> str:
    figures = [counted.total(), *(counted[outcome] for outcome in OUTCOMES)]
    return f"{name:29}{kind:9}" + "".join(f"{figure:>11,}" for figure in figures)


if __name__ == "__main__":
    main()
