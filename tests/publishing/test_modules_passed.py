"""How many modules one release passes: the way of a release can be read in an afternoon."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType

import polars as pl

import serigraph

ARCHITECTURE = Path(__file__).parents[2] / "docs/architecture.md"


def test_a_release_passes_few_modules(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "patient": range(1, 16),
            "age": range(20, 65, 3),
            "diagnosis": ["flu", "asthma", "hiv", "cold", "gout"] * 3,
        }
    )
    path = tmp_path / "table.csv"
    table.write_csv(path)
    serigraph.init(tmp_path / "series", path, persistence="transient")
    publish = serigraph.publish
    publish(path, tmp_path / "series", label="first")
    table.with_columns(pl.col("age") + 1).write_csv(path)
    passed: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("serigraph.") and frame.f_code.co_name[0] != "<":
            passed.add(name)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        publish(path, tmp_path / "series", label="second")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert "serigraph.publishing.publication" in passed
    assert not [name for name in passed if "spark" in name]
    told = re.search(r"passes (\d+) modules", ARCHITECTURE.read_text(encoding="utf-8"))
    assert told is not None
    # One more where kernels were compiled in this process.
    assert int(told[1]) <= len(passed) <= int(told[1]) + 1, "\n".join(sorted(passed))
