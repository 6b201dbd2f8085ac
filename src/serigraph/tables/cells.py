"""What the cells of a column mean: text, numbers or dates, and which of them are missing.

Each function returns the column and what is wrong with it, without any cell in the words: rows are
named by their number in the table, counted from 1. Surrounding blanks do not count, and a cell of
blanks only is missing, as is not-a-number. Cells of any type have one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import MAXYEAR, date, time
from decimal import Decimal
from functools import wraps

import polars as pl

from serigraph.model import whole_where_possible
from serigraph.policy import Reading
from serigraph.runtime.threads import parallel_map, slices
from serigraph.texts import composed

_NAMED = 5
_ROWS = re.compile(r",? rows? \d+(?:, \d+)*(?: and \d+ more)?")


def rows_where(is_wrong: pl.Series) -> str:
    """The first rows for which a boolean series is true.

    >>> rows_where(pl.Series([False, True, None, True]))
    'rows 2, 4'
    """
    numbers = (is_wrong.fill_null(False).arg_true() + 1).to_list()
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"{'row' if len(numbers) == 1 else 'rows'} {named}{more}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "cell"), counted(12, "cell"), counted(2, "person", "people")
    ('1 cell', '12 cells', '2 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def without_rows(problem: str) -> str:
    """The same problem where rows have no numbers, as in a table that many machines read.

    >>> without_rows("column 'age': text in 2 cells, rows 2, 4: correct them")
    "column 'age': text in 2 cells: correct them"
    """
    return _ROWS.sub("", problem)


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
            f"column {column.name!r} holds times, which every format writes differently: "
            "give dates or text"
        ]
    return nothing, [
        f"column {column.name!r} holds {type_name(kind)}, where single values are expected"
    ]


def type_name(kind: pl.DataType) -> str:
    """The name of a type, without its categories."""
    inner = getattr(kind, "inner", None)
    name = str(kind.base_type())
    return name if inner is None else f"{name}({type_name(inner)})"


def is_midnight(times: pl.Series) -> pl.Series:
    """Which points in time are midnight in their own zone."""
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


DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
)
_TIME_OF_DAY = r"^(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}.*$"
_TIME_IN_ZONE = (
    r"^\d{4}-\d{2}-\d{2}[T ][\d:.,]*[1-9][\d:.,]*\s*(?:Z|[A-Z]{3,4}|[+-]\d{2}:?\d{0,2})$"
)
_DAY_IN_DOUBT = "times with a zone, whose day depends on the zone (give dates),"
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
_BEYOND_CALENDAR = "dates outside the years 1 to 9999"
_FIRST_YEAR = 1000  # a year of two digits would otherwise be read as one of the first century

# Each distinct text is looked at only once where texts are repeated: where at most three in four of
# a sample are different. Of every eighth cell that many are, if texts occur four times on average.
_SAMPLED = 8
_SAMPLE = 1 << 17
_DIFFERENT = 0.75

Read = tuple[pl.Series, list[str]]
Reader = Callable[[pl.Series, Reading], Read]


def _each_text_once(read: Reader) -> Reader:
    """The same reader, which looks once at a text that many cells hold. What a column of texts
    means must not depend on how often each occurs."""

    @wraps(read)
    def read_distinct(column: pl.Series, reading: Reading) -> Read:
        if column.dtype != pl.String or _are_seldom_repeated(column):
            return read(column, reading)
        distinct = different(column)
        meant, problems = read(distinct, reading)
        if problems:
            return read(column, reading)  # to name the rows
        if meant.equals(distinct, check_dtypes=True):
            return column, []
        return meant.gather(column.cast(pl.Enum(distinct)).to_physical()).alias(column.name), []

    return read_distinct


def different(column: pl.Series) -> pl.Series:
    """The distinct cells, without missing ones."""
    parts = parallel_map(lambda part: column[part].unique(), slices(len(column)))
    return pl.concat(parts).unique().drop_nulls()


def _are_seldom_repeated(texts: pl.Series) -> bool:
    sample = texts.gather_every(max(_SAMPLED, len(texts) // _SAMPLE)).to_frame("text")
    about = sample.select(pl.col("text").approx_n_unique()).item()
    return int(about) > _DIFFERENT * sample.height


@_each_text_once
def read_text(column: pl.Series, reading: Reading) -> Read:
    """The column as text, as ``text_of`` writes it."""
    text, problems = text_of(column)
    missing = ["", *reading.null_values]
    return text.set(text.is_in(missing).fill_null(False), None), problems


def read_categories(column: pl.Series, reading: Reading) -> Read:
    """The column as an Enum of its texts, ascending."""
    problems: list[str] = []
    if column.dtype != pl.String:
        column, problems = read_text(column, reading)
    distinct = different(column)
    meant, _ = read_text(distinct, reading)
    kind = pl.Enum(meant.drop_nulls().unique().sort())
    if meant.equals(distinct):
        return column.cast(kind), problems
    numbers = column.cast(pl.Enum(distinct)).to_physical()
    return meant.cast(kind).gather(numbers).alias(column.name), problems


def read_numbers(column: pl.Series, reading: Reading) -> Read:
    """The column as integers where every number is whole, otherwise as Float64."""
    whole = plain_integers(column, reading)
    return (whole, []) if whole is not None else _read_numbers(column, reading)


def plain_integers(column: pl.Series, reading: Reading) -> pl.Series | None:
    """The integers in a column of text, if it holds only digits with or without a sign."""
    if column.dtype != pl.String or reading.null_values:
        return None
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() else None


@_each_text_once
def _read_numbers(column: pl.Series, reading: Reading) -> Read:
    kind = column.dtype
    if kind in _INTEGERS:
        return column, []
    if kind.is_integer() or kind == pl.Boolean:
        whole = column.cast(pl.Int64, strict=False)
        lost = whole.is_null() & column.is_not_null()
        return whole, _complaint(column, lost, "numbers beyond the range of 64-bit integers")
    if kind.is_temporal() or kind.is_nested() or kind in (pl.Binary, pl.Object):
        nothing = pl.Series(column.name, [None] * len(column), dtype=pl.Int64)
        held = type_name(kind)
        return nothing, [f"column {column.name!r} holds {held}, where numbers are expected"]
    problems: list[str] = []
    if kind == pl.Float64:
        numbers = column
    elif kind.is_numeric():
        numbers = text_of(column)[0].cast(pl.Float64)  # 0.1, whatever precision it was kept with
    else:
        text, _ = read_text(column, reading)
        text, problems = _with_decimal_point(text, reading)
        numbers = text.cast(pl.Float64, strict=False)
        problems += _complaint(
            column,
            numbers.is_null() & text.is_not_null(),
            "text where numbers are expected (list texts for missing in null_values of [reading])",
        )
    numbers = numbers.fill_nan(None)
    problems += _complaint(column, numbers.is_infinite(), "infinite numbers")
    return whole_where_possible(numbers), problems


@_each_text_once
def read_dates(column: pl.Series, reading: Reading) -> Read:
    """The column as dates; a time of day is left out."""
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        beyond = _complaint(
            column, _is_beyond_calendar(column), "dates outside the years 1 to 9999"
        )
        if beyond:
            return pl.Series(column.name, [None] * len(column), dtype=pl.Date), beyond
    if column.dtype == pl.Date:
        return column, []
    if isinstance(column.dtype, pl.Datetime):
        is_later = ~is_midnight(column) if column.dtype.time_zone else pl.Series([False])
        return column.dt.date(), _complaint(column, is_later, _DAY_IN_DOUBT)
    text, problems = read_text(column, reading)
    kind = column.dtype
    if kind.is_float() or kind.is_decimal() or kind.is_temporal() or problems:
        nothing = pl.Series(column.name, [None] * len(column), dtype=pl.Date)
        held = type_name(kind)
        return nothing, [f"column {column.name!r} holds {held}, where dates are expected"]
    problems = _complaint(column, text.str.contains(_TIME_IN_ZONE), _DAY_IN_DOUBT)
    text = without_time(text)
    if reading.date_format is not None:
        chosen = reading.date_format
    else:
        distinct = text.drop_nulls().unique()
        fitting = fitting_date_formats(distinct)
        readings = [parse_dates(distinct, each) for each in fitting]
        if any(not each.equals(readings[0]) for each in readings[1:]):
            problems.append(
                f"column {column.name!r} may have the day or the month first: "
                "set date_format in [reading]"
            )
        chosen = fitting[0] if fitting else _best_date_format(distinct)
    dates = parse_dates(text, chosen)
    wrong = dates.is_null() & text.is_not_null()
    return dates, problems + _complaint(
        column, wrong, f"text that is not a date of the form {chosen}"
    )


def fitting_date_formats(distinct: pl.Series) -> list[str]:
    """The formats in which every one of these texts is a date."""
    return [each for each in DATE_FORMATS if parse_dates(distinct, each).null_count() == 0]


def without_time(text: pl.Series) -> pl.Series:
    """The texts without the time of day, if they are ISO 8601."""
    return text.str.replace(_TIME_OF_DAY, "$1")


def parse_dates(text: pl.Series, form: str) -> pl.Series:
    """The texts as dates, null where the form differs."""
    dates = text.str.to_date(form, strict=False)
    is_no_year = ~dates.dt.year().is_between(_FIRST_YEAR, MAXYEAR)
    return dates.set(is_no_year.fill_null(False), None)


def _is_beyond_calendar(column: pl.Series) -> pl.Series:
    """Whether the year of each date is outside the range of Python's dates."""
    kind = column.dtype
    days = column.to_physical()
    if isinstance(kind, pl.Datetime):
        days = days // (86_400 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.time_unit])
    first, last = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
    # A day on either side is left for time zones.
    return ~days.is_between(first + 1, last - 1)


def _with_decimal_point(text: pl.Series, reading: Reading) -> Read:
    if reading.decimal == ".":
        return text, []
    problems: list[str] = []
    if reading.decimal is None:
        has_comma = text.str.contains(",", literal=True).fill_null(False)
        if not has_comma.any():
            return text, []
        with_comma = text.filter(has_comma)
        if not with_comma.str.contains(r"^[+-]?\d*,\d+$").all():
            return text, []
        if with_comma.str.contains(r"^[+-]?\d{1,3},\d{3}$").all():
            problems = [
                f"column {text.name!r} has commas that may mark decimals or thousands: "
                "set decimal in [reading]"
            ]
    return text.str.replace(",", ".", literal=True), problems


def _best_date_format(distinct: pl.Series) -> str:
    return min(DATE_FORMATS, key=lambda each: parse_dates(distinct, each).null_count())


def _complaint(column: pl.Series, is_wrong: pl.Series, what: str) -> list[str]:
    number = int(is_wrong.sum())
    if not number:
        return []
    return [f"column {column.name!r}: {what} in {counted(number, 'cell')}, {rows_where(is_wrong)}"]
