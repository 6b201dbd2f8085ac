"""Commands that need no compiled code do not load it: they start at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from publishing.clinic import clinic, new_series, policy_text
from serigraph.publishing import publish

_RUN = """
import json, sys
from serigraph.cli import main
try:
    main()
finally:
    print(json.dumps([name for name in ("numba", "pyspark") if name in sys.modules]))
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("starting")
    made = clinic(releases=1, people=200, registered=400, seed=5, protected_share=0.1)
    table = folder / "first.parquet"
    made.tables[0].write_parquet(table)
    series = new_series(folder / "clinic", policy_text())
    publish(table, series)
    return {
        "TABLE": str(table),
        "SERIES": str(series.path),
        "PERSON": str(made.tables[0][0, 0]),
        "EXPORT": str(folder / "export"),
    }


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "publish --help",
        "status SERIES",
        "history SERIES --person PERSON --value HIV",
        "export SERIES EXPORT",
    ],
)
def test_nothing_heavy_is_loaded_without_need(command: str, places: dict[str, str]) -> None:
    words = [places.get(word, word) for word in command.split()]
    run = subprocess.run(
        [sys.executable, "-c", _RUN, *words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == []
