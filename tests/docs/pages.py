"""The pages of the documentation, cut into their fenced blocks.

`sh` and `python` blocks run, in the order of the page, in one folder that holds a copy of
`docs/example`. An `output` block is what the block before it prints; `output varies` allows other
numbers in the same words, where groups are drawn at random. `sh exit=4` expects that exit code.
`toml` blocks are policies or parts of one. `text`, `csv` and `mermaid` blocks are only looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RUN, SHOWN = {"sh", "python"}, {"text", "csv", "mermaid", "json"}
LANGUAGES = RUN | SHOWN | {"output", "toml"}

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: where it begins, its language, what else its fence says, its text."""

    line: int
    language: str
    remarks: tuple[str, ...]
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            line=text.count("\n", 0, found.start()) + 1,
            language=(found["info"].split() or [""])[0],
            remarks=tuple(found["info"].split()[1:]),
            text=found["text"],
        )
        for found in _FENCE.finditer(text)
    ]
