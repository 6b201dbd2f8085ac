"""The rooms of the package and the way of one release through them.

``make picture`` draws ``rooms.svg`` beside this file. The rooms and their order are those of the
import contract in ``pyproject.toml``, which the gate enforces.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from serigraph.charts import text

PICTURE = Path(__file__).with_name("rooms.svg")
CONTRACT = Path(__file__).parents[2] / "pyproject.toml"
# What a release passes, in order; docs/architecture.md says what happens in each.
WAY = (
    "publishing",
    "tables",
    "ledger",
    "grouping",
    "verification",
    "recoding",
    "attacking",
    "reporting",
    "ledger",
)
WIDTH, ROW, BOX, MARGIN, GAP = 720, 46, 34, 16, 8
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1c2733; }
.room { fill: #eef2f6; stroke: #8796a5; }
.passed { fill: #d9e8f5; stroke: #2f6f9f; }
.step { fill: #2f6f9f; }
.number { font-size: 12px; font-weight: 600; fill: #ffffff; }
"""


def layers() -> list[list[str]]:
    """The rooms of each layer, the uppermost first."""
    contract = tomllib.loads(CONTRACT.read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip().removeprefix("serigraph.") for room in row.split("|")] for row in layers]


def room(name: str, x: float, y: float, width: float) -> str:
    """A box with its name, and the steps of a release that happen in it."""
    steps = [number for number, passed in enumerate(WAY, 1) if passed == name]
    kind = "room passed" if steps else "room"
    parts = [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BOX}" rx="6" class="{kind}"/>',
        text(x + width / 2 - 9 * len(steps), y + 22, name, anchor="middle"),
    ]
    for place, number in enumerate(reversed(steps)):
        centre = x + width - 14 - 21 * place
        parts.append(f'<circle cx="{centre:.1f}" cy="{y + 17:.1f}" r="9.5" class="step"/>')
        parts.append(text(centre, y + 21, str(number), anchor="middle", kind="number"))
    return "".join(parts)


def picture() -> str:
    """The drawing as an SVG file that stands by itself."""
    rows = layers()
    parts = []
    for place, names in enumerate(rows):
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        for number, name in enumerate(names):
            parts.append(room(name, MARGIN + (width + GAP) * number, MARGIN + ROW * place, width))
    height = 2 * MARGIN + ROW * len(rows) - (ROW - BOX)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'role="img"><title>The rooms of Serigraph; numbers are the steps of a release</title>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
