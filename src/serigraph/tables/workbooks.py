"""Reading a sheet of an Excel workbook.

Excel has numbers, texts, truth and times; dates and times of day are numbers that are shown so. The
type of a column is that of all its cells, and a number among texts is a text.
"""

from __future__ import annotations

import difflib
import logging
from datetime import datetime
from typing import Any

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Reading
from serigraph.tables.extras import optional_package
from serigraph.tables.header import repeated
from serigraph.tables.queries import not_one_table

_ALIKE = 0.7  # of the letters
_LOG = "fastexcel.types.dtype"
_MIDNIGHT = r"^(\d{4}-\d{2}-\d{2}) 00:00:00$"  # how a date among texts is written
_FIRST_DAY = datetime(1900, 1, 1)  # what is earlier is a time of day


def read_workbook(content: Any, reading: Reading, where: str) -> pl.DataFrame:
    """The sheet that the query of ``reading`` names, or the only one. The first row names the
    columns; rows and columns without a cell do not count."""
    fastexcel = optional_package("fastexcel", extra="excel", purpose="reading an Excel workbook")
    log = logging.getLogger(_LOG)
    log.addFilter(_nothing)  # it warns of every empty column
    try:
        workbook = fastexcel.read_excel(content if isinstance(content, bytes) else str(content))
        sheet = _sheet_of(workbook.sheet_names, reading.query, where)
        names, table = _cells(fastexcel, workbook, sheet)
    except fastexcel.UnsupportedColumnTypeCombinationError:
        raise TableError(
            "a column mixes dates with durations",
            where=where,
            remedy="format all its cells alike, or delete it",
        ) from None
    except fastexcel.FastExcelError as error:
        raise TableError(
            f"the workbook is damaged, or protected by a password ({type(error).__name__})",
            where=where,
            remedy="save it again, without a password",
        ) from None
    finally:
        log.removeFilter(_nothing)
    return _named(table, names, where)


def _nothing(_record: logging.LogRecord) -> bool:
    return False


def _cells(
    fastexcel: Any, workbook: Any, sheet: str
) -> tuple[tuple[str | None, ...], pl.DataFrame]:
    """The first row of a sheet as texts, and the others."""
    try:
        header = workbook.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    except fastexcel.InvalidParametersError:  # an empty sheet
        return (), pl.DataFrame()
    try:
        table = workbook.load_sheet(
            sheet, header_row=None, skip_rows=1, schema_sample_rows=None
        ).to_polars()
    except fastexcel.InvalidParametersError:  # nothing below the first row
        table = header.clear()
    return header.row(0) if header.height else (), table


def _sheet_of(sheets: list[str], wanted: str | None, where: str) -> str:
    if wanted is None:
        if len(sheets) != 1:
            raise not_one_table(len(sheets), where, what="workbook", parts="sheets")
        return sheets[0]
    if wanted not in sheets:
        near = difflib.get_close_matches(wanted, sheets, 1, _ALIKE)
        raise TableError(
            f"the workbook has no sheet {wanted!r}"
            + "".join(f"; did you mean {n!r}?" for n in near),
            where=where,
            remedy="correct query in the section [reading] of the policy, or --query: for a "
            "workbook it is the name of a sheet",
        )
    return wanted


def _named(table: pl.DataFrame, names: tuple[str | None, ...], where: str) -> pl.DataFrame:
    known = [name if name and name.strip() else None for name in names]
    known += [None] * (table.width - len(known))
    columns, kept, problems = [], [], []
    for number, (name, column) in enumerate(zip(known, table.get_columns(), strict=False), 1):
        if name is None:
            if column.null_count() < len(column):
                problems.append(f"column {number} has no name in the first row")
            continue
        kept.append(name)
        columns.append(_column(column.alias(name)))
    problems += repeated(kept)
    if problems or not kept:
        raise TableError(
            "the first row does not name the columns",
            where=where,
            remedy="give every column a unique name in the first row of the sheet",
            problems=problems,
        )
    if not columns:
        return pl.DataFrame(schema=dict.fromkeys(kept, pl.String))
    found = pl.DataFrame(columns)
    return found.filter(~pl.all_horizontal(pl.all().is_null()))


def _column(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.str.replace(_MIDNIGHT, "$1")
    if isinstance(column.dtype, pl.Datetime) and (column < _FIRST_DAY).any():
        return column.dt.time()
    return column
