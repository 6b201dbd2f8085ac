"""What the cells of other tools' tables stand for."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from serigraph.auditing.cells import CellReader
from serigraph.model import Domain, Taxonomy

AGES = Domain("age", "numeric", pl.Series([17, 20, 25, 30, 31, 40, 65]))
WEIGHTS = Domain("weight", "numeric", pl.Series([-2.5, 0.5, 1.5, 1000.0]))
SEXES = Domain("sex", "categorical", pl.Series(["F", "M"]))
ZIPS = Domain("zip", "categorical", pl.Series(["02139", "65001", "65002", "65014"]))
WORDS = Domain("word", "categorical", pl.Series(["a", "b", "b, c", "Asian-Pac", "x/y"]))
DATES = Domain("date", "date", pl.Series([date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29)]))
WITH_MISSING = Domain("age", "numeric", pl.Series([None, 20, 30]))
PLACES = Domain(
    "place",
    "categorical",
    pl.Series(["Graz", "Linz", "Bern"]),
    Taxonomy.from_rows(
        [["Graz", "Austria", "Europe"], ["Linz", "Austria", "Europe"], ["Bern", "Swiss", "Europe"]]
    ),
)


@pytest.mark.parametrize(
    ("domain", "cell", "expected"),
    [
        (AGES, "25", [25]),
        (AGES, "25.0", [25]),
        (AGES, "*", [17, 20, 25, 30, 31, 40, 65]),
        (AGES, "**", [17, 20, 25, 30, 31, 40, 65]),
        (AGES, "[20, 30[", [20, 25]),
        (AGES, "]20, 30]", [25, 30]),
        (AGES, "[20, 30]", [20, 25, 30]),
        (AGES, "(20, 30]", [25, 30]),
        (AGES, "[20,30)", [20, 25]),
        (AGES, "20-30", [20, 25, 30]),
        (AGES, "20 - 30", [20, 25, 30]),
        (AGES, "20~30", [20, 25, 30]),
        (AGES, "20..30", [20, 25, 30]),
        (AGES, "20 to 30", [20, 25, 30]),
        (AGES, "[17-35]", [17, 20, 25, 30, 31]),
        (AGES, "['20-30']", [20, 25, 30]),
        (AGES, "['20', '31']", [20, 31]),
        (AGES, ">=40", [40, 65]),
        (AGES, "> 40", [65]),
        (AGES, "≤20", [17, 20]),
        (AGES, "<20", [17]),
        (AGES, "40+", [40, 65]),
        (AGES, "[40, inf)", [40, 65]),
        (AGES, "{20, 31}", [20, 31]),
        (AGES, "20,31", [20, 31]),
        (AGES, "3*", [30, 31]),
        (AGES, "50-60", []),
        (WEIGHTS, "[-3, 0.5]", [-2.5, 0.5]),
        (WEIGHTS, "-3--1", [-2.5]),
        (WEIGHTS, "1e3", [1000.0]),
        (SEXES, "M/F", ["F", "M"]),
        (SEXES, "Male", None),
        (SEXES, "F,M", ["F", "M"]),
        (SEXES, "F~M", ["F", "M"]),
        (SEXES, "F|M", ["F", "M"]),
        (SEXES, "['F,M']", ["F", "M"]),
        (SEXES, "{F, M}", ["F", "M"]),
        (ZIPS, "6500*", ["65001", "65002"]),
        (ZIPS, "650**", ["65001", "65002", "65014"]),
        (ZIPS, "6*", ["65001", "65002", "65014"]),
        (ZIPS, "65001-65005", ["65001", "65002"]),
        (ZIPS, "[02139, 65001]", ["02139", "65001"]),
        (WORDS, "b, c", ["b, c"]),
        (WORDS, "{a, b, c}", ["a", "b, c"]),
        (WORDS, "a,b", ["a", "b"]),
        (WORDS, "x/y", ["x/y"]),
        (WORDS, "a/x/y", ["a", "x/y"]),
        (WORDS, "Asian-Pac", ["Asian-Pac"]),
        (WORDS, "a-b", None),
        (DATES, "2024-01-01", [date(2024, 1, 1)]),
        (DATES, "[2024-01-01, 2024-03-01]", [date(2024, 1, 1), date(2024, 2, 29)]),
        (DATES, "2023-12-31~2024-01-01", [date(2023, 12, 31), date(2024, 1, 1)]),
        (DATES, "2024", [date(2024, 1, 1), date(2024, 2, 29)]),
        (DATES, "2024-02", [date(2024, 2, 29)]),
        (DATES, "2020-2023", [date(2023, 12, 31)]),
        (DATES, "[2023, 2024[", [date(2023, 12, 31)]),
        (DATES, ">=2024", [date(2024, 1, 1), date(2024, 2, 29)]),
        (DATES, "2024-02-31", []),
        (DATES, "yesterday", None),
        (WITH_MISSING, None, [None]),
        (WITH_MISSING, "missing", [None]),
        (WITH_MISSING, "{missing, [20, 25]}", [None, 20]),
        (WITH_MISSING, "*", [None, 20, 30]),
        (WITH_MISSING, "20-30", [20, 30]),
        (AGES, "", [17, 20, 25, 30, 31, 40, 65]),
        (AGES, None, [17, 20, 25, 30, 31, 40, 65]),
        (PLACES, "Austria", ["Graz", "Linz"]),
        (PLACES, "{Graz, Swiss}", ["Graz", "Bern"]),
        (PLACES, "Europe", ["Graz", "Linz", "Bern"]),
        (PLACES, "Asia", None),
        (AGES, "twenty", None),
        (AGES, "[20, 30", None),
        (AGES, "30-20", None),
        (AGES, "[20; thirty]", None),
        (AGES, "['20", None),
    ],
)
def test_cell(domain: Domain, cell: str | None, expected: list[object] | None) -> None:
    found = CellReader(domain).admitted(cell)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert domain.values.filter(pl.Series(found)).to_list() == expected


def test_sets_of_thousands_of_values() -> None:
    names = [f"value {number:04}" for number in range(3000)]
    domain = Domain("word", "categorical", pl.Series(names))
    found = CellReader(domain).admitted("{" + ", ".join(names[:2500]) + "}")
    assert found is not None
    assert found.sum() == 2500
