"""Trees of taxonomies as lines of text, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from serigraph.model import Taxonomy

_LINES = 60  # of text
_NODES = 400  # of a picture
_ROW, _COLUMN, _MARGIN, _LETTERS = 18, 190, 14, 26


@dataclass
class _Node:
    label: str
    leaves: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def below(self) -> list[_Node]:
        """The children; one that repeats its only parent's label is no level of its own."""
        children = list(self.children.values())
        if len(children) == 1 and children[0].label == self.label:
            return children[0].below()
        return children


def _roots(taxonomy: Taxonomy) -> list[_Node]:
    top = _Node("")
    for path in taxonomy.paths:
        node = top
        for label in path:
            node = node.children.setdefault(label, _Node(label))
            node.leaves += 1
    return list(top.children.values())


def outline(taxonomy: Taxonomy, most: int = _LINES) -> str:
    """The tree as lines of text, level by level as deep as at most ``most`` lines show it.

    >>> print(outline(Taxonomy.from_rows([["cat", "pet", "*"], ["dog", "pet", "*"]])))
    *  (2)
    └─ pet  (2)
       ├─ cat
       └─ dog
    """
    roots = _roots(taxonomy)
    depth = _depth_that_fits(roots, most, len(taxonomy.paths[0]))
    lines: list[str] = []
    for root in roots[:most]:
        lines.append(_named(root))
        lines += _branches(root, "", depth - 1)
    hidden = len(roots) - most
    return "\n".join([*lines, *([f"and {hidden:,} more"] if hidden > 0 else [])])


def _depth_that_fits(roots: list[_Node], most: int, deepest: int) -> int:
    level, shown = roots, len(roots)
    for depth in range(1, deepest):
        level = [child for node in level for child in node.below()]
        shown += len(level)
        if shown > most or not level:
            return depth
    return deepest


def _branches(node: _Node, indent: str, depth: int) -> Iterator[str]:
    children = node.below() if depth > 0 else []
    for number, child in enumerate(children, 1):
        is_last = number == len(children)
        yield f"{indent}{'└' if is_last else '├'}─ {_named(child)}"
        yield from _branches(child, indent + ("   " if is_last else "│  "), depth - 1)


def _named(node: _Node) -> str:
    return f"{node.label}  ({node.leaves:,})" if node.below() else node.label


def drawn(taxonomy: Taxonomy, title: str) -> str:
    """The tree from left to right, as one SVG file without scripts; of a large one, its upper
    levels."""
    roots = _roots(taxonomy)
    deepest = len(taxonomy.paths[0])
    depth = _depth_that_fits(roots, _NODES, deepest)
    parts: list[str] = []
    end = float(_MARGIN + _ROW)
    for root in roots[:_NODES]:
        end, _ = _place(root, 0, end, depth - 1, parts)
    width, height = 2 * _MARGIN + _COLUMN * depth, end + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" role="img" font-family="system-ui, sans-serif" font-size="12">'
        f"<title>{escape(title)}, {len(taxonomy.leaves):,} leaves</title>"
        f'<rect width="{width}" height="{height:.0f}" fill="#ffffff"/>' + "".join(parts) + "</svg>"
    )


def _place(
    node: _Node, level: int, top: float, depth: int, parts: list[str]
) -> tuple[float, float]:
    """Draw a node with what is below it from ``top`` on; returns where that ends, and its own
    height."""
    children = node.below() if depth > 0 else []
    x, end, heights = _MARGIN + _COLUMN * level, top, list[float]()
    for child in children:
        end, at = _place(child, level + 1, end, depth - 1, parts)
        heights.append(at)
    y = (heights[0] + heights[-1]) / 2 if heights else top
    name = _named(node)
    shown = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
    for at in heights:
        start, middle, stop = x + 7.0 * len(shown), x + _COLUMN - 22, x + _COLUMN - 6
        parts.append(
            f'<path d="M{min(start, middle):.0f} {y - 4:.1f} H{middle:.0f} V{at - 4:.1f} '
            f'H{stop:.0f}" fill="none" stroke="#8796a5"/>'
        )
    parts.append(
        f'<text x="{x}" y="{y:.1f}" fill="#1c2733">{escape(shown)}'
        f"<title>{escape(name)}</title></text>"
    )
    return (end, y) if children else (top + _ROW, y)
