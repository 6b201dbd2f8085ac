"""A digest of what a table says, whatever its file format and the order of rows and columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import polars as pl

_FORM = "serigraph table 1"  # a change of what is fed below needs another number
_EXACT_INTEGERS = 2**53  # beyond it not every integer is a float


def digest_of(ids: pl.Series, quasi_identifiers: Mapping[str, pl.Series], values: pl.Series) -> str:
    """SHA-256 over the people of a table, ascending by id, each with an ascending list of values.

    Numbers are taken as floats and dates as days, so that a column of whole numbers is the same
    whether it was stored as integers or not.
    """
    digest = hashlib.sha256(_FORM.encode())
    digest.update(_column(ids))
    for name, column in sorted(quasi_identifiers.items()):
        digest.update(f"{len(name)} {name} ".encode())
        digest.update(_column(column))
    lengths = values.list.len()
    digest.update(_column(lengths))
    digest.update(_column(values.filter(lengths > 0).explode()))
    return digest.hexdigest()


def _column(column: pl.Series) -> bytes:
    """The digest of one column: what is missing, its kind, and its values."""
    digest = hashlib.sha256(np.packbits(column.is_null().to_numpy()).data)
    if column.dtype == pl.String:
        filled = column.fill_null("")
        digest.update(b"text")
        digest.update(_buffer(filled.str.len_bytes(), "<u4"))
        digest.update(filled.str.join("").item().encode() if len(filled) else b"")
    elif column.dtype == pl.Date:
        digest.update(b"date")
        digest.update(_buffer(column.to_physical(), "<i4"))
    elif column.dtype == pl.Int64 and (column.abs() >= _EXACT_INTEGERS).any():
        digest.update(b"integer")
        digest.update(_buffer(column, "<i8"))
    else:
        digest.update(b"number")
        digest.update(_buffer(column.cast(pl.Float64), "<f8"))
    return digest.digest()


def _buffer(numbers: pl.Series, form: str) -> memoryview:
    return np.ascontiguousarray(numbers.fill_null(0).to_numpy().astype(form)).data
