"""The form of numbers."""

from __future__ import annotations

import polars as pl

_EXACT_INTEGERS = 2**53  # beyond it not every integer is a float


def whole_where_possible(numbers: pl.Series) -> pl.Series:
    """Floats as integers if all are whole, so that the file format makes no difference."""
    if numbers.dtype != pl.Float64:
        return numbers
    known = numbers.drop_nulls()
    are_whole = ((known == known.floor()) & (known.abs() < _EXACT_INTEGERS)).all()
    if are_whole:
        return numbers.cast(pl.Int64)
    return numbers.set((numbers == 0).fill_null(False), 0.0)  # a negative zero is zero
