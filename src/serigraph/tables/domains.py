"""Codes for the values of the quasi-identifiers, in the order that each domain has."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.population import Domain, Kind, Taxonomy
from serigraph.tables.cells import whole_where_possible

_SPREAD = 4  # integers in the range of a column, for each cell


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
    else:
        known = column.drop_nulls().unique().sort()
    missing = column.is_null()
    has_missing = bool(missing.any())
    codes = _places(column, known) + np.int32(has_missing)
    if has_missing:
        codes[missing.to_numpy()] = 0
        known = pl.concat([known.clear(1), known])
    return Domain(column.name, kind, known, taxonomy), codes


def _places(column: pl.Series, known: pl.Series) -> NDArray[np.int32]:
    """The place of each cell among the known values; anything where the cell is missing."""
    if known.is_empty():
        return np.zeros(len(column), dtype=np.int32)
    if column.dtype == pl.String:
        numbered = column.cast(pl.Enum(known)).to_physical().fill_null(0)
        return numbered.to_numpy().astype(np.int32)
    cells = column.fill_null(known[0]).to_physical().to_numpy()
    values = known.to_physical().to_numpy()
    if values.dtype.kind == "i" and int(values[-1]) - int(values[0]) <= _SPREAD * len(cells):
        # Integers close together are looked up, which takes a twentieth of the time of a search.
        place = np.zeros(int(values[-1]) - int(values[0]) + 1, dtype=np.int32)
        place[values - values[0]] = np.arange(len(values), dtype=np.int32)
        return np.asarray(place[cells - values[0]])
    return np.searchsorted(values, cells).astype(np.int32)
