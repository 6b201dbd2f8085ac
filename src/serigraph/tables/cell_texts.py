"""A cell of any type as text: the same text, whichever type it was stored as."""

from __future__ import annotations

from datetime import time
from decimal import Decimal

import polars as pl

from serigraph.texts import composed

_MIDNIGHT = time(0)


def text_of(column: pl.Series) -> tuple[pl.Series, list[str]]:
    """The cells as text, and what is wrong with their type.

    A number is written with the digits that it needs and no others, so that an integer 5, a float
    5.0 and a decimal 5.00 are all "5"; what is text already keeps the zeros that it has.

    >>> text_of(pl.Series([Decimal("5.00"), Decimal("2.50")]))[0].to_list()
    ['5', '2.5']
    >>> text_of(pl.Series([5.0, 1e20, -0.0, float("nan")]))[0].to_list()
    ['5', '100000000000000000000', '0', None]
    """
    kind = column.dtype
    if kind == pl.String or kind in (pl.Categorical, pl.Enum):
        return composed(column.cast(pl.String)), []
    if kind.is_float():
        return _of_floats(column), []
    if kind.is_decimal():
        return _of_decimals(column), []
    if kind.is_integer() or kind in (pl.Boolean, pl.Null, pl.Date):
        return column.cast(pl.String), []
    if kind == pl.Datetime and is_midnight(column).all():
        return column.dt.date().cast(pl.String), []
    nothing = pl.Series(column.name, [None] * len(column), dtype=pl.String)
    if kind.is_temporal():
        return nothing, [
            f"column {column.name!r} holds times, which every format writes in a way of its own: "
            "give dates or text"
        ]
    return nothing, [
        f"column {column.name!r} holds {type_name(kind)}, where single values are expected"
    ]


def type_name(kind: pl.DataType) -> str:
    """What a type is called, without the categories that it may list."""
    inner = getattr(kind, "inner", None)
    name = str(kind.base_type())
    return name if inner is None else f"{name}({type_name(inner)})"


def is_midnight(times: pl.Series) -> pl.Series:
    """Which points in time are the beginning of a day, by the clock of their own zone."""
    return times.dt.time() == _MIDNIGHT


def _of_floats(column: pl.Series) -> pl.Series:
    text = column.fill_nan(None).cast(pl.String).str.strip_suffix(".0")
    with_exponent = text.filter(text.str.contains("e", literal=True)).unique()
    if len(with_exponent):
        spelt_out = [_without_exponent(each) for each in with_exponent]
        text = text.replace(with_exponent, pl.Series(spelt_out, dtype=pl.String))
    return _without_negative_zero(text)


def _without_exponent(number: str) -> str:
    digits = f"{Decimal(number):f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _of_decimals(column: pl.Series) -> pl.Series:
    text = column.cast(pl.String)
    has_point = text.str.contains(".", literal=True)
    shorter = text.str.replace(r"\.?0+$", "")
    return _without_negative_zero(shorter.zip_with(has_point.fill_null(False), text))


def _without_negative_zero(text: pl.Series) -> pl.Series:
    return text.set((text == "-0").fill_null(False), "0")
