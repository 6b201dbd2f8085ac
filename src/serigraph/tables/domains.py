"""Codes for the values of the quasi-identifiers, in the order that each domain has."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import Domain, Kind, Taxonomy, ranked
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.tables.cells import different, whole_where_possible


def coded(
    column: pl.Series,
    kind: Kind,
    taxonomy: Taxonomy | None,
    codes: NDArray[np.int32] | None = None,
) -> tuple[Domain, NDArray[np.int32]]:
    """The domain of a column and the code of each of its cells, which is written to ``codes`` if
    these are given.

    Numbers and dates are coded by size, categories by name, leaves of a taxonomy depth first and
    all of them, observed or not. Where a cell is missing, missing has the code 0.
    """
    if codes is None:
        codes = np.empty(len(column), dtype=np.int32)
    column = whole_where_possible(column)
    if taxonomy is not None:
        known = pl.Series(column.name, taxonomy.leaves, dtype=pl.String)
        if not _write_places(column, known, codes):
            raise ImpossibleState(f"the taxonomy of {column.name!r} lacks a value of the column")
    elif column.dtype == pl.String:
        # Where texts repeat, the first ones are mostly all that there are.
        known = different(column.head(TOGETHER)).sort()
        if not _write_places(column, known, codes):
            known = different(column).sort()
            _write_places(column, known, codes)
    else:
        known = _write_ranks(column, codes)
    if column.null_count():
        codes += 1
        codes[column.is_null().to_numpy()] = 0
        known = pl.concat([known.clear(1), known])
    return Domain(column.name, kind, known, taxonomy), codes


def _write_places(column: pl.Series, known: pl.Series, places: NDArray[np.int32]) -> bool:
    """The place of each cell among the known texts; anything where the cell is missing. Returns
    whether all texts are known; if not, the work is left undone."""
    kind, are_known = pl.Enum(known), True

    def write(part: slice) -> None:
        nonlocal are_known
        if not are_known:
            return
        cells = column[part]
        place = cells.cast(kind, strict=False).to_physical()
        if place.null_count() > cells.null_count():
            are_known = False
        places[part] = place.fill_null(0).to_numpy()

    parallel_map(write, slices(len(column), longest=TOGETHER))
    return are_known


def _write_ranks(column: pl.Series, places: NDArray[np.int32]) -> pl.Series:
    """The place of each cell among the different numbers or dates of a column, ascending, which are
    returned; anything where the cell is missing."""
    lowest = column.min()
    if lowest is None:
        places[:] = 0
        return column.clear()
    physical = column.fill_null(lowest).to_physical()
    numbers, _ = ranked([piece.to_numpy() for piece in physical.get_chunks()], places)
    known = pl.Series(column.name, numbers)
    if column.dtype.is_integer():
        return known.cast(pl.Int64)
    return known.cast(column.to_physical().dtype).cast(column.dtype)
