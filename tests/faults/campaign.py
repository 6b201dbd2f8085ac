"""`make faults`: every fault at every operation on files, and what the next commands find.

recovered   the release is wholly there or wholly absent, and the next ones can be published
lost        a release, or what a command had said that it did, is gone
half        anything else that does not fit: files without a ledger, a misleading exit code
tracebacks  an error that is not one of Serigraph's
hangs       a command that does not end
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from faults.scenarios import OUTCOMES, RECOVERED, Scenario, Verdict, all_scenarios
from faults.shim import Commands, Fault

ERRORS = {
    "I/O error": Fault.INPUT_OUTPUT,
    "full disk": Fault.FULL_DISK,
    "no memory": Fault.NO_MEMORY,
    "SIGKILL": Fault.KILLED,
}
POWER_CUT = "power cut"
_CHOICES = [("kept", 0), ("lost", 0), *(("mixed", seed) for seed in range(6))]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of all cases, chosen at random")
    parser.add_argument("--kinds", nargs="+", choices=[POWER_CUT, *ERRORS])
    parser.add_argument("--scenarios", nargs="+")
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    print(f"{'':29}{'':9}{'cases':>11}" + "".join(f"{name:>11}" for name in OUTCOMES))
    with tempfile.TemporaryDirectory() as folder, Commands() as commands:
        scratch = Path(folder)
        for scenario in all_scenarios(scratch, commands):
            if chosen.scenarios and scenario.name not in chosen.scenarios:
                continue
            for kind in chosen.kinds or [POWER_CUT, *ERRORS]:
                cases = (
                    after_power_cuts(scenario, commands, scratch, chosen.share)
                    if kind == POWER_CUT
                    else after_errors(scenario, commands, scratch, ERRORS[kind], chosen.share)
                )
                counted: Counter[str] = Counter()
                for place, verdict in cases:
                    counted[verdict.outcome] += 1
                    if verdict.outcome != RECOVERED:
                        where = f"{scenario.name}, {kind} {place}"
                        print(f"{verdict.outcome}: {where}: {verdict.reason}", file=sys.stderr)
                print(_row(scenario.name, kind, counted), flush=True)
                total += counted
    print(_row("together", "", total))
    sys.exit(total.total() != total[RECOVERED])


def _row(name: str, kind: str, counted: Counter[str]) -> str:
    figures = [counted.total(), *(counted[outcome] for outcome in OUTCOMES)]
    return f"{name:29}{kind:9}" + "".join(f"{figure:>11,}" for figure in figures)


if __name__ == "__main__":
    main()
