"""Every code block of the documentation does what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.pages import LANGUAGES, PAGES, ROOT, RUN, Block, blocks_of, name_of
from serigraph.policy.model import PolicyForm

NUMBER = re.compile(r"\d+(?:[.,/:-]\d+)*|#+")  # or the bar of a histogram
HOME = "/home/you"  # where the pages let their commands run
LEAST_POLICY = """
version = 1
person = { id = "patient" }
quasi_identifiers = { born = { kind = "numeric" } }
sensitive = { column = "diagnosis" }
guarantee = { threshold = "1/2" }
"""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    before = ""
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"line {block.line}"
        assert block.language != "output" or before in RUN, f"line {block.line}"
        before = block.language


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.language == "toml" for b in blocks_of(p))], ids=name_of
)
def test_every_part_of_a_policy_is_valid(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "toml":
            PolicyForm.model_validate(tomllib.loads(LEAST_POLICY) | tomllib.loads(block.text))


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.language in RUN for b in blocks_of(p))], ids=name_of
)
def test_every_command_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "you"
    shutil.copytree(ROOT / "docs/example", folder)
    names: dict[str, Any] = {}
    printed = ""
    for block in blocks_of(page):
        where = f"{name_of(page)}, line {block.line}"
        if block.language == "sh":
            printed = run_shell(block, folder, where)
        elif block.language == "python":
            printed = run_python(block, folder, names, where)
        elif block.language == "output":
            shown, got = block.text, printed.replace(str(folder), HOME)
            if "varies" in block.remarks:
                shown, got = without_numbers(shown), without_numbers(got)
            assert squeezed(got) == squeezed(shown), f"{where}\n{got}"
    names.clear()  # closes what the page left open


def run_shell(block: Block, folder: Path, where: str) -> str:
    """What the commands print; they must leave with the exit code that the fence names, or 0."""
    expected = [int(each.removeprefix("exit=")) for each in block.remarks]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == (expected or [0])[0], f"{where}\n{done.stdout}"
    return done.stdout


def run_python(block: Block, folder: Path, names: dict[str, Any], where: str) -> str:
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(block.text, where, "exec"), names)  # the pages are ours
    return printed.getvalue()


def without_numbers(text: str) -> str:
    return NUMBER.sub(lambda found: "" if found[0][0] == "#" else "0", text)


def squeezed(text: str) -> list[list[str]]:
    """The words of each line: numbers of another length move the columns."""
    return [line.split() for line in text.strip().splitlines()]
