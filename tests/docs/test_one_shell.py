"""The how-to pages, pasted one after the other into one shell and one Python session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.pages import ROOT, RUN, blocks_of
from docs.test_blocks import run_python
from docs.test_links import links_of

HOW_TO = ROOT / "docs/how-to"
END = "end of block"


class Shell:
    """A shell that stays open, as a person's does."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def paste(self, commands: str) -> tuple[int, Path, str]:
        """The exit code of the last command that failed, the shell's folder, and the output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            f"failed=0; trap 'failed=$?' ERR\n{commands}\n"
            f'printf "\\n{END} %s %s\\n" $failed "$PWD"\n'
        )
        self._process.stdin.flush()
        printed = []
        for line in self._process.stdout:
            if line.startswith(END):
                code, folder = line.removeprefix(END).split(maxsplit=1)
                return int(code), Path(folder.strip()), "".join(printed)
            printed.append(line)
        raise EOFError("the shell ended")

    def close(self) -> None:
        self._process.communicate()


@pytest.mark.thorough  # test_blocks runs each page by itself
def test_pages_can_be_pasted_one_after_the_other(tmp_path: Path) -> None:
    folder = tmp_path / "you"
    shutil.copytree(ROOT / "docs/example", folder)
    pages = [HOW_TO / link for link in links_of(HOW_TO / "README.md") if link.endswith(".md")]
    assert set(pages) == set(HOW_TO.glob("*.md")) - {HOW_TO / "README.md"}
    shell, names = Shell(folder), dict[str, Any]()
    here = folder
    try:
        for page in pages:
            for block in (each for each in blocks_of(page) if each.language in RUN):
                where = f"{page.name}, line {block.line}"
                if block.language == "python":
                    run_python(block, here, names, where)
                    continue
                expected = [int(each.removeprefix("exit=")) for each in block.remarks]
                code, here, printed = shell.paste(block.text)
                assert code == (expected or [0])[0], f"{where}\n{printed}"
    finally:
        names.clear()  # closes what the pages left open
        shell.close()
