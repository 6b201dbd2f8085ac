"""The digest of a table is a sum over its people: parts of a table add up, in any order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import unhurried
from serigraph.model import CodedValues
from serigraph.tables.digests import _PERSON, _TEXT, cell_hashes, record_hashes, sum_of

IDS = pl.Series([f"P{number}" * (number % 7 + 1) for number in range(200)])
DOMAIN = pl.Series([None, "a", "b", ""])
CODES = np.array([number * 7 % 4 for number in range(200)], dtype=np.int32)
VALUES = pl.Series([["x", "y"][: number % 3] for number in range(200)], dtype=pl.List(pl.String))


def hashes(
    ids: pl.Series = IDS, codes: np.ndarray = CODES, values: pl.Series = VALUES
) -> np.ndarray:
    coded = CodedValues.of(values)
    return record_hashes(ids, {"q": (cell_hashes(DOMAIN), codes)}, coded)


def test_parts_add_up_whatever_their_order() -> None:
    order = np.random.default_rng(1).permutation(200)
    halves = [
        sum_of(hashes(IDS.gather(half), CODES[half], VALUES.gather(half)))
        for half in (order[:77], order[77:])
    ]
    assert sum(halves) % 2**64 == sum_of(hashes())


def test_every_change_of_a_record_is_noticed() -> None:
    whole = hashes()
    assert len(set(whole.tolist())) == 200
    swapped = np.arange(200)
    swapped[[4, 5]] = [5, 4]
    for other in (
        hashes(ids=IDS.gather(swapped)),
        hashes(codes=CODES[swapped]),
        hashes(values=VALUES.gather(swapped)),
    ):
        assert sum_of(other) != sum_of(whole)
        assert (other != whole).sum() == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (pl.Series([3]), pl.Series([3.0]), True),
        (pl.Series([2**53]), pl.Series([2**53 + 1]), False),
        (pl.Series([-(2**63)]), pl.Series([2**63 - 1]), False),
        (pl.Series(["3"]), pl.Series([3]), False),
        (pl.Series([None], dtype=pl.Int64), pl.Series([0]), False),
        (pl.Series([None], dtype=pl.String), pl.Series([""]), False),
        (pl.Series(["a", "bc"]), pl.Series(["ab", "c"]), False),
        (pl.Series(["12345678a"]), pl.Series(["12345678b"]), False),
        (pl.Series(["a"]), pl.Series(["a\0"]), False),
    ],
)
def test_cells(one: pl.Series, other: pl.Series, same: bool) -> None:
    assert (cell_hashes(one) == cell_hashes(other)).all() == same


def plain_mix(bits: int) -> int:
    """SplitMix64, in Python's integers."""
    z = (bits + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def plain_text(text: str) -> int:
    content = text.encode()
    mixed = plain_mix(len(content) ^ int(_TEXT))
    for begin in range(0, len(content), 8):
        mixed = plain_mix(mixed ^ int.from_bytes(content[begin : begin + 8]))
    return mixed


def plain_record(person: str, cells: list[str], values: set[str]) -> int:
    mixed = plain_mix(plain_text(person) ^ int(_PERSON))
    for cell in cells:
        mixed = plain_mix(mixed ^ plain_text(cell))
    of_set = len(values) + sum(plain_mix(plain_text(value)) for value in values)
    return plain_mix(mixed ^ plain_mix(of_set % 2**64))


def test_the_plain_form_is_splitmix64() -> None:
    """The first three numbers of Java's SplittableRandom with seed 0."""
    step = 0x9E3779B97F4A7C15
    found = [plain_mix(number * step % 2**64) for number in range(3)]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@unhurried
@given(st.lists(st.tuples(texts, texts, texts, st.sets(texts, max_size=3)), min_size=1, max_size=9))
def test_records_are_those_of_a_plain_form(people: list[tuple[str, str, str, set[str]]]) -> None:
    ids, one, other, values = (list(each) for each in zip(*people, strict=True))
    columns = {}
    for name, cells in (("a", one), ("b", other)):
        domain = sorted(set(cells))
        codes = np.array([domain.index(cell) for cell in cells], dtype=np.int32)
        columns[name] = cell_hashes(pl.Series(domain, dtype=pl.String)), codes
    held = pl.Series([sorted(each) for each in values], dtype=pl.List(pl.String))
    found = record_hashes(pl.Series(ids, dtype=pl.String), columns, CodedValues.of(held))
    expected = [plain_record(person, [x, y], each) for person, x, y, each in people]
    assert found.tolist() == expected


@pytest.mark.parametrize("column", ["the same as the id", "another"])
def test_people_who_change_places_make_another_table(column: str) -> None:
    ids = pl.Series(range(40), dtype=pl.Int64)
    domain = ids if column == "the same as the id" else ids + 1
    columns = {"q": (cell_hashes(domain), np.arange(40, dtype=np.int32))}

    def total(holder: int) -> int:
        held = pl.Series([["flu"] if each == holder else [] for each in range(40)])
        return sum_of(record_hashes(ids, columns, CodedValues.of(held)))

    assert total(3) != total(30)
