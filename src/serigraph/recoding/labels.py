"""What a region is called: ranges for numbers and dates, nodes for taxonomies, else value sets.

Texts that many cells repeat stay numbers until they are read.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import Domain, Taxonomy, ranked
from serigraph.runtime.threads import TOGETHER

_FEW = 1 << 13  # more would be written again for every part of a file


def cells_at(values: pl.Series, codes: NDArray[np.integer]) -> pl.Series:
    """The value of each code. A few distinct texts come as an Enum, which takes a fraction of the
    time to gather and to write.

    The Enum has only the texts that occur: a file shows all of them, and what was suppressed must
    not be among them.

    >>> cells_at(pl.Series(["flu", "gout", "hiv"]), np.array([1, 0, 1])).dtype
    Enum(categories=['flu', 'gout'])
    """
    if codes.dtype == np.int32:
        codes = codes.view(np.uint32)  # none is negative
    numbers = pl.Series(codes.astype(np.uint32, copy=False))
    if values.dtype == pl.String and len(values) <= _FEW:
        occurs = np.zeros(len(values), dtype=np.bool_)
        for begin in range(0, len(codes), TOGETHER):
            occurs[codes[begin : begin + TOGETHER]] = True
        values = values.set(pl.Series(~occurs), None)
        values = values.cast(pl.Enum(values.drop_nulls()))
    return values.gather(numbers)


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    """The table with text where it has Enums."""
    return table.with_columns(pl.selectors.enum().cast(pl.String))


MISSING = "missing"


def region_labels(domain: Domain, low: NDArray[np.int32], high: NDArray[np.int32]) -> pl.Series:
    """The label of each interval of codes; equal intervals share the work.

    >>> ages = Domain("age", "numeric", pl.Series([20, 25, 31]))
    >>> region_labels(ages, np.array([0, 1]), np.array([2, 1])).to_list()
    ['[20, 31]', '25']
    """
    codes = max(domain.size, 1)
    distinct, which = ranked(low.astype(np.int64) * codes + high)
    first, last = np.divmod(distinct, codes)
    texts = _texts(domain, np.concatenate([first, last]))
    names = [
        _label(domain, texts, *ends) for ends in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return cells_at(pl.Series(domain.name, names, dtype=pl.String), which)


def _texts(domain: Domain, ends: NDArray[np.int64]) -> dict[int, str]:
    """Ends of intervals of numbers and dates as text, each made once."""
    if not domain.is_scale:
        return {}
    # People without a number have the first code; the smallest known number has the next.
    known = np.unique(np.maximum(ends, int(domain.has_missing)))
    known = known[known < domain.size]
    return dict(zip(known.tolist(), map(str, domain.values.gather(known).to_list()), strict=True))


def _label(domain: Domain, texts: dict[int, str], low: int, high: int) -> str:
    first = low
    if domain.has_missing and low == 0:
        if high == 0:
            return MISSING
        first = 1
    if not domain.is_scale:
        return _set(_names(domain, first, high), with_missing=first > low)
    shown = texts[first] if first == high else f"[{texts[first]}, {texts[high]}]"
    return f"{{{MISSING}, {shown}}}" if first > low else shown


def _names(domain: Domain, low: int, high: int) -> tuple[str, ...]:
    if domain.taxonomy is not None:
        shift = int(domain.has_missing)
        return domain.taxonomy.cover(low - shift, high - shift)
    return tuple(str(name) for name in domain.values[low : high + 1])


def _set(names: tuple[str, ...], *, with_missing: bool) -> str:
    """One name as it is, several in braces. Names that could be taken for something else are
    quoted, all of them, so that no two regions share a label.

    >>> _set(("a", "b"), with_missing=True), _set(("missing",), with_missing=False)
    ('{missing, a, b}', '{"missing"}')
    """
    alone = len(names) == 1 and not with_missing
    if any(_is_ambiguous(name, alone) for name in names):
        names = tuple(json.dumps(name, ensure_ascii=False) for name in names)
        alone = False
    return names[0] if alone else "{" + ", ".join((MISSING,) * with_missing + names) + "}"


def _is_ambiguous(name: str, alone: bool) -> bool:
    if alone:
        return name == MISSING or name.startswith("{")
    return name == MISSING or any(letter in name for letter in ',{}"')


def widened_to_nodes(
    domain: Domain,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    box_low: NDArray[np.int32],
    box_high: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Widen intervals of a taxonomy's leaves to nodes, as far as the group's box reaches.

    Cuts run between siblings, so that the siblings that hold the people always fit into the box;
    their parent is taken instead where the box holds all of it.
    """
    if domain.taxonomy is None:
        return low, high
    shift = int(domain.has_missing)
    together = np.stack([low, high, box_low, box_high], axis=1)
    distinct, which = np.unique(together, axis=0, return_inverse=True)
    widened = np.array([_widened(domain.taxonomy, shift, *row) for row in distinct.tolist()])
    widened = widened.reshape(-1, 2)[which.reshape(-1)].astype(np.int32)
    return widened[:, 0], widened[:, 1]


def _widened(
    taxonomy: Taxonomy, shift: int, low: int, high: int, box_low: int, box_high: int
) -> tuple[int, int]:
    first = max(low, shift)  # a missing value is not in the tree
    if high < first:
        return low, high
    begin, end = taxonomy.siblings(first - shift, high - shift)
    whole_begin, whole_end = taxonomy.smallest_node(first - shift, high - shift)
    if box_low <= whole_begin + shift and whole_end + shift <= box_high:
        begin, end = whole_begin, whole_end
    return min(low, begin + shift), end + shift
