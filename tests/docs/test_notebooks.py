"""The notebooks of ``examples`` run as they are, and show charts."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

from docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
FORGET = "%reset -f"  # one kernel for all: each notebook starts with nothing


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each notebook shows, as HTML or text."""
    pipe = str(tmp_path_factory.mktemp("kernel") / "ipc")
    together, named = nbformat.v4.new_notebook(), []
    for path in NOTEBOOKS:
        cells = [nbformat.v4.new_code_cell(FORGET), *nbformat.read(path, as_version=4).cells]
        together.cells += cells
        named += [path.stem] * len(cells)
    NotebookClient(
        together,
        timeout=300,
        config=Config({"ConnectionFileMixin": {"transport": "ipc", "ip": pipe}}),  # no port
        resources={"metadata": {"path": str(ROOT / "examples")}},
    ).execute()
    outputs = [
        (name, output)
        for name, cell in zip(named, together.cells, strict=True)
        for output in cell.get("outputs", ())
    ]
    assert [output for _, output in outputs if output.get("name") == "stderr"] == []
    found = dict.fromkeys(named, "")
    for name, output in outputs:
        data = output.get("data", {})
        found[name] += data.get("text/html") or data.get("text/plain") or output.get("text", "")
    return found


def test_there_are_three_and_none_holds_an_output() -> None:
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs")


def test_a_first_series(shown: dict[str, str]) -> None:
    told = shown["first_series"]
    for kind in ("NewSeries", "Published", "Status", "Audit"):
        assert f"<caption>{kind}</caption>" in told
    assert told.count("Largest share of a threshold reached so far") > 3  # of each of these
    assert told.endswith("(True, True)")


def test_the_audit_finds_what_the_releases_tell_together(shown: dict[str, str]) -> None:
    told = shown["audit_of_other_releases"]
    assert "release 2: alone 1/2, so far 3/4" in told
    assert "Pairs by probability, as a share of the threshold" in told


def test_a_strategy_is_recommended_beside_charts(shown: dict[str, str]) -> None:
    told = shown["choosing_a_strategy"]
    assert "Ratio by exposure" in told
    assert "[strategy]\nname = " in told
    assert "threshold 1/3" in told
