"""Random taxonomies, as rows of an ARX file, with labels that are unique in the whole tree."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def trees(draw: st.DrawFn, levels: int = 4) -> list[list[str]]:
    """Rows, leaf first, of a tree in which every path has the same length; in random order."""
    paths: list[tuple[str, ...]] = [()]
    for _ in range(draw(st.integers(1, levels))):
        paths = [
            (*path, "-".join([*path[-1:], str(child)]))
            for path in paths
            for child in range(draw(st.integers(1, 3)))
        ][:24]
    return draw(st.permutations([list(path[::-1]) for path in paths]))


def leaves_under(rows: Sequence[Sequence[str]], node: str) -> list[str]:
    """The leaves of a node, in the order in which a depth-first walk of the rows meets them."""
    order: list[Sequence[str]] = list(rows)
    for level in range(len(rows[0])):
        seen = list(dict.fromkeys(row[level] for row in rows))
        order.sort(key=lambda row, level=level, seen=seen: seen.index(row[level]))  # type: ignore[misc]
    return [row[0] for row in order if node in row]
