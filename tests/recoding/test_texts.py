"""Texts that are numbers on the way to a file: readers find text, and only what a row has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from serigraph.engines.one_machine import write_tables
from serigraph.policy import Output
from serigraph.recoding.labels import as_text, cells_at

VALUES = pl.Series([None, "flu", "gout", "never held", "ümlaut, quoted"])
CODES = np.array([4, 1, 0, 2, 1, 1])
EXPECTED = ["ümlaut, quoted", "flu", None, "gout", "flu", "flu"]


def test_files_hold_text_and_nothing_that_no_row_has(tmp_path: Path) -> None:
    table = pl.DataFrame({"group": range(6), "value": cells_at(VALUES, CODES)})
    write_tables(tmp_path, {"table": table}, Output())
    path = tmp_path / "table.parquet"
    assert pl.read_parquet_schema(path) == {"group": pl.Int64, "value": pl.String}
    assert pq.read_schema(path).field("value").type == pa.large_string()
    assert pl.read_parquet(path)["value"].to_list() == EXPECTED
    assert pq.read_table(path)["value"].to_pylist() == EXPECTED
    assert pl.read_csv(tmp_path / "table.csv")["value"].to_list() == EXPECTED
    for file in tmp_path.iterdir():
        assert b"never held" not in file.read_bytes()


def test_a_table_is_read_as_text() -> None:
    table = pl.DataFrame({"value": cells_at(VALUES, CODES)})
    assert as_text(table).equals(pl.DataFrame({"value": EXPECTED}))


def test_many_texts_and_numbers_stay_what_they_are() -> None:
    many = pl.Series([str(number) for number in range(10_000)])
    assert cells_at(many, np.array([7, 9_999])).to_list() == ["7", "9999"]
    assert cells_at(pl.Series([3, None]), np.array([1, 0, 0])).to_list() == [None, 3, 3]
