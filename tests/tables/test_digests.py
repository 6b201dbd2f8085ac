"""The digest of a table is a sum over its people: parts of a table add up, in any order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from serigraph.model import CodedValues
from serigraph.tables.digests import cell_hashes, record_hashes, sum_of

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
