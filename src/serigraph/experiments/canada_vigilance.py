"""The extract of the Canada Vigilance database, which the paper knew as CADRMP.

Files have no header; cells are quoted and separated by dollar signs. The places of the columns are
those of the data structure that Health Canada publishes with the extract. It has no province any
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from serigraph.errors import TableError
from serigraph.experiments.source import PERSON, VALUE, Source
from serigraph.model import Kind

_REPORT_ID, _GENDER, _AGE_YEARS = 0, 10, 13
_WEIGHT, _WEIGHT_UNIT, _HEIGHT, _HEIGHT_UNIT = 19, 20, 22, 23
_REACTION_REPORT_ID, _REACTION_TERM = 1, 5

_SEXES = ("Male", "Female")
_KILOGRAMS = {"Kilogram": 1.0, "Pound": 0.45359237, "Gram": 0.001}
_CENTIMETRES = {"Centimetre": 1.0, "Metre": 100.0, "Inch": 2.54, "Foot": 30.48}
_KINDS: dict[str, Kind] = {
    "age": "numeric",
    "sex": "categorical",
    "weight": "numeric",
    "height": "numeric",
}


def is_canada_vigilance(path: Path) -> bool:
    """Whether a file begins as those of the extract do: a quoted cell and a dollar sign."""
    with path.open("rb") as file:
        beginning = file.readline(4096)
    return beginning.startswith(b'"') and b'"$"' in beginning


def canada_vigilance_source(reports: Sequence[Path], reactions: Sequence[Path]) -> Source:
    """People with age in whole years, sex, weight and height, and their reactions in English.

    Reports in which one of them is missing, or in a unit that is not known, are left out.
    """
    listed = pl.concat([_cells(path, _HEIGHT_UNIT) for path in reports])
    terms = pl.concat([_cells(path, _REACTION_TERM) for path in reactions])
    people = pl.DataFrame(
        {
            PERSON: listed[:, _REPORT_ID],
            "age": _number(listed[:, _AGE_YEARS]).floor().cast(pl.Int64),
            "sex": listed[:, _GENDER],
            "weight": _scaled(listed[:, _WEIGHT], listed[:, _WEIGHT_UNIT], _KILOGRAMS),
            "height": _scaled(listed[:, _HEIGHT], listed[:, _HEIGHT_UNIT], _CENTIMETRES),
        }
    ).filter(pl.col("sex").is_in(_SEXES))
    if people.is_empty():
        raise TableError(
            "no report has a sex where today's extract has it",
            where=str(reports[0]),
            remedy="give reports.txt as reports and reactions.txt as reactions, from one extract",
        )
    pairs = pl.DataFrame({PERSON: terms[:, _REACTION_REPORT_ID], VALUE: terms[:, _REACTION_TERM]})
    return Source.of("Canada Vigilance", people, pairs, _KINDS)


def _cells(path: Path, last: int) -> pl.DataFrame:
    """The cells of a file as text, up to the last column that is needed."""
    try:
        table = pl.read_csv(
            path,
            separator="$",
            has_header=False,
            infer_schema=False,
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"the file cannot be read ({type(error).__name__})",
            where=str(path),
            remedy="give the files as the extract has them",
        ) from None
    if table.width <= last:
        raise TableError(
            f"the file has {table.width} columns, and at least {last + 1} are needed",
            where=str(path),
            remedy="give reports.txt as reports and reactions.txt as reactions",
        )
    return table[:, : last + 1]


def _number(column: pl.Series) -> pl.Series:
    return column.str.strip_chars().cast(pl.Float64, strict=False)


def _scaled(column: pl.Series, unit: pl.Series, factors: dict[str, float]) -> pl.Series:
    factor = unit.replace_strict(factors, default=None, return_dtype=pl.Float64)
    return (_number(column) * factor).round().cast(pl.Int64)
