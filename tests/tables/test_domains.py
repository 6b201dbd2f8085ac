"""Codes for the cells of a column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from serigraph.errors import ImpossibleState
from serigraph.model import Taxonomy
from serigraph.runtime.threads import TOGETHER
from serigraph.tables.columns import coded


def test_a_text_that_comes_late_has_a_code_of_its_own() -> None:
    texts = pl.Series("sex", ["m", None, "f"] * TOGETHER + ["a"])
    domain, codes = coded(texts, "categorical", None)
    assert domain.values.to_list() == [None, "a", "f", "m"]
    assert domain.values.gather(codes).equals(texts)


def test_codes_are_written_where_they_stay() -> None:
    numbers = pl.concat([pl.Series("age", [40, 20]), pl.Series("age", [30, 20])], rechunk=False)
    assert numbers.n_chunks() == 2
    room = np.empty((2, 4), dtype=np.int32)
    domain, _ = coded(numbers, "numeric", None, room[1])
    assert domain.values.to_list() == [20, 30, 40]
    assert room[1].tolist() == [2, 0, 1, 0]
    domain, codes = coded(numbers.set(numbers == 20, None), "numeric", None, room[0])
    assert domain.values.to_list() == [None, 30, 40]
    assert codes.tolist() == room[0].tolist() == [2, 0, 1, 0]


def test_a_text_that_its_taxonomy_lacks_is_not_taken_for_another() -> None:
    taxonomy = Taxonomy.from_rows([["m", "*"], ["f", "*"]], where="here")
    with pytest.raises(ImpossibleState, match="'sex' lacks a value"):
        coded(pl.Series("sex", ["m", "f", "a"]), "categorical", taxonomy)
