"""Texts that many cells repeat, as numbers for as long as nobody reads them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.runtime.threads import TOGETHER

_FEW = 1 << 13  # more would be written again for every part of a file


def cells_at(values: pl.Series, codes: NDArray[np.integer]) -> pl.Series:
    """The value of each code. Few different texts come as an Enum: to gather and to write it takes
    a fraction of the time.

    The Enum has the texts that occur and no others, because a file shows all that it has: what was
    suppressed must not be among them.

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
