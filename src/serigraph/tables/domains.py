"""Codes for the values of the quasi-identifiers, in the order that each domain has."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.population import Domain, Kind, Taxonomy, ranked
from serigraph.tables.cells import different, whole_where_possible
from serigraph.threads import side_by_side, slices


def coded(
    column: pl.Series, kind: Kind, taxonomy: Taxonomy | None
) -> tuple[Domain, NDArray[np.int32]]:
    """The domain of a column and the code of each of its cells.

    Numbers and dates are coded by size, categories by name, leaves of a taxonomy depth first and
    all of them, observed or not. Where a cell is missing, missing has the code 0.
    """
    if kind == "numeric":
        column = whole_where_possible(column)
    if taxonomy is not None:
        known = pl.Series(column.name, taxonomy.leaves, dtype=pl.String)
        codes = _places_of_texts(column, known)
    elif column.dtype == pl.String:
        known = different(column).sort()
        codes = _places_of_texts(column, known)
    else:
        known, codes = _numbers(column)
    if column.null_count():
        codes += 1
        codes[column.is_null().to_numpy()] = 0
        known = pl.concat([known.clear(1), known])
    return Domain(column.name, kind, known, taxonomy), codes


def _places_of_texts(column: pl.Series, known: pl.Series) -> NDArray[np.int32]:
    """The place of each cell among the known texts; anything where the cell is missing."""
    kind, places = pl.Enum(known), np.empty(len(column), dtype=np.int32)

    def write(part: slice) -> None:
        places[part] = column[part].cast(kind).to_physical().fill_null(0).to_numpy()

    side_by_side(write, slices(len(column)))
    return places


def _numbers(column: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """The different numbers or dates of a column, ascending, and the place of each cell among
    them; anything where the cell is missing."""
    lowest = column.min()
    if lowest is None:
        return column.clear(), np.zeros(len(column), dtype=np.int32)
    numbers, codes = ranked(column.fill_null(lowest).to_physical().to_numpy())
    known = pl.Series(column.name, numbers)
    if column.dtype.is_integer():
        return known.cast(pl.Int64), codes
    return known.cast(column.to_physical().dtype).cast(column.dtype), codes
