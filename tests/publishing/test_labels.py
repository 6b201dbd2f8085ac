"""The label that a release gets where nobody names one, and the command that `init` suggests."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from serigraph.ledger import check_label
from serigraph.publishing.terms import default_label


@pytest.mark.parametrize(
    ("table", "label"),
    [
        ("2024H1.csv", "2024H1"),
        ("tables/2024 H1 (final).csv.gz", "2024-H1-final"),
        (Path("Größe.parquet"), "Gr-e"),
        ("()().csv", "release-7"),
        (object(), "release-7"),
    ],
)
def test_a_file_of_any_name_gives_a_usable_label(table: object, label: str) -> None:
    assert default_label(table, 7) == label
    check_label(label)


def test_what_init_suggests_can_be_pasted(tmp_path: Path) -> None:
    table = tmp_path / "two (people).csv"
    table.write_text("patient,age,diagnosis\n1,20,flu\n2,21,cold\n")
    series = tmp_path / "my clinic"
    done = subprocess.run(
        [sys.executable, "-m", "serigraph", "init", str(series), "--from", str(table)],
        capture_output=True,
        text=True,
        check=True,
    )
    words = shlex.split(done.stdout.splitlines()[-1].removeprefix("Then: "))
    assert words == ["serigraph", "publish", str(table), "--series", str(series)]
