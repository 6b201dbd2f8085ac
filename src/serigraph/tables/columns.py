"""The one form that a cell has, whatever type and file format it came in.

A person, a category or a value has to be the same in every release and in the registry, whether a
file stores it as text, as an integer, as a float or as a decimal number: otherwise one person has
two budgets, and a protected value goes out unprotected under another name. Every source is read
through ``canonical``, on one machine and on Spark.

=====================  ===================  ===================  ================  ================
type                   id                   category, value      number            date
=====================  ===================  ===================  ================  ================
text                   as written (1)       as written (1)       if it is one      if it is one (2)
categorical, enum      as text              as text              as text           as text
integer, any width     its digits           its digits           itself            YYYYMMDD
float, decimal         its digits if whole  its digits: 5, 2.5   itself            refused
Boolean                refused              true, false          1, 0              refused
date                   refused              2024-01-31           refused           itself
time stamp             refused              midnight: as a date  refused           its day (3)
time, duration         refused              refused              refused           refused
list, struct, binary   refused              refused (4)          refused           refused
not-a-number, blanks   missing              missing              missing           missing
=====================  ===================  ===================  ================  ================

(1) In the Unicode form NFC, without blanks around it: "007" keeps its zeros, "5.00" its point. What
only looks like another text is for ``look_alikes`` to find. (2) A time of day is left out. (3) With
a time zone only if all are midnight there, because the day depends on the zone. (4) Unless the
policy says that cells are lists, whose items are then read as values.

A column in this form gets codes, in the order that its domain has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.model import Domain, Kind, Taxonomy, ranked, whole_where_possible
from serigraph.policy import Policy, Reading
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.tables.cells import (
    Read,
    Reader,
    different,
    read_dates,
    read_numbers,
    read_text,
    text_of,
    type_name,
)

Role = Literal["id", "categorical", "value", "numeric", "date"]

# Up to these, every whole number is a distinct float; beyond, two ids may have become one.
_EXACT: dict[type[pl.DataType], int] = {
    pl.Float16: 2**11,
    pl.Float32: 2**24,
    pl.Float64: 2**53,
}


def roles_of(policy: Policy) -> dict[str, Role]:
    """The role of each column that a policy names."""
    kinds = {name: column.kind for name, column in policy.quasi_identifiers.items()}
    values = dict.fromkeys(policy.sensitive_columns, "value")
    return {policy.person.id: "id", **kinds, **values}


def canonical(column: pl.Series, role: Role, reading: Reading) -> Read:
    """A column in the form that its role asks for, and what is wrong with it, without any cell.

    Ids, categories and values become text (``read_ids`` makes integers of ids that all are some),
    numbers integers or Float64, and dates Date. See the table above.
    """
    return READERS[role](column, reading)


def _read_ids(column: pl.Series, reading: Reading) -> Read:
    kind = column.dtype
    text, problems = read_text(column, reading)
    if kind.is_temporal() or kind == pl.Boolean:
        problems = [f"column {column.name!r} holds {type_name(kind)}, where ids are expected"]
    elif is_unsafe_id(column).any():
        problems = [unsafe_ids(column.name)]
    return text, problems


def unsafe_ids(name: str) -> str:
    """The problem with a column of ids that contains an unsafe one."""
    return (
        f"column {name!r} holds numbers with decimals or too large to be exact, where ids are "
        "expected: store the ids as integers or text"
    )


def is_unsafe_id(column: pl.Series) -> pl.Series:
    """Which numbers cannot be ids: those with decimals, and floats that may have been rounded."""
    kind = column.dtype
    if kind.is_float():
        known = column.fill_nan(0.0).fill_null(0.0)
        is_whole = known == known.floor()
        return ~(is_whole & (known.abs() < _EXACT[kind.base_type()]))
    if kind.is_decimal():
        return text_of(column)[0].str.contains(".", literal=True).fill_null(False)
    return pl.repeat(False, len(column), eager=True)


READERS: Mapping[Role, Reader] = {
    "id": _read_ids,
    "categorical": read_text,
    "value": read_text,
    "numeric": read_numbers,
    "date": read_dates,
}


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
        # If texts repeat, the first rows usually have them all.
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
