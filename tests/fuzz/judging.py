"""What must not happen, whatever the input."""

from __future__ import annotations

from pathlib import Path

from fuzz.cases import SECRET, Case
from serigraph.errors import SerigraphError
from serigraph.ledger import Series

# 1 shows a traceback, 70 is a bug; Spark, interrupts and limits have no part in this.
EXPECTED = {0, 2, 3, 4, 5, 6, 7}
LONGEST = 300.0  # seconds until a case counts as hung: far more than one takes on a busy machine


def releases(series: Path) -> int | None:
    """How many releases are out, if that can be said."""
    try:
        return len(Series.open(series).releases())
    except SerigraphError:
        return None


def complaint(case: Case, code: int, printed: str, before: int | None) -> str:
    """What is wrong with how a case ended; empty if nothing is."""
    if "Traceback" in printed or "panicked" in printed or code in (1, 70) or code < 0:
        return "traceback"
    if code not in EXPECTED:
        return f"unexpected exit code {code}"
    if SECRET in printed.replace(str(case.series.parent), ""):  # a folder may be called anything
        return "an id was printed"
    out = releases(case.series)
    publishes = case.arguments[0] == "publish" and "--dry-run" not in case.arguments
    is_published = code == 0 and publishes
    wanted = before + is_published if before is not None else None
    return "" if out == wanted else f"{out} releases are out, not {wanted}"
