"""Whatever values people have, the CSV file of a release gives back the same sets."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serigraph.auditing.reading import read_release
from serigraph.engines.one_machine import write_tables
from serigraph.policy import Output, parse_policy
from serigraph.recoding.output import as_cells, as_sets
from serigraph.texts import composed

POLICY = """version = 1
[person]
id = "patient"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
form = "{form}"
[guarantee]
l = 2
"""
# Blanks at the ends and other Unicode forms never get into a release.
VALUES = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(';\\,"\n\r')), max_size=6
).map(lambda text: composed(pl.Series([text]))[0])
SETS = st.lists(VALUES.filter(bool), max_size=4, unique=True).map(sorted)


@given(st.lists(SETS, min_size=1, max_size=12))
def test_cells_are_the_inverse_of_sets(sets: list[list[str]]) -> None:
    lists = pl.Series(sets, dtype=pl.List(pl.String))
    cells = as_cells(lists)
    assert as_sets(cells).to_list() == sets
    assert cells.n_unique() == lists.n_unique(), "two sets must not look the same"


@pytest.mark.parametrize("form", ["rows", "list"])
@settings(max_examples=50, deadline=None)
@given(sets=st.lists(SETS, min_size=1, max_size=12))
def test_a_file_gives_back_the_sets(form: str, sets: list[list[str]]) -> None:
    table = pl.DataFrame(
        {"age": ["25"] * len(sets), "diagnosis": pl.Series(sets, dtype=pl.List(pl.String))}
    )
    policy = parse_policy(POLICY.format(form=form), "a policy", Path())
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), {"table": table}, Output())
        for name in ("table.csv", "table.parquet"):
            read = read_release(Path(folder) / name, policy, 1)
            assert read.record_values.to_list() == sets, name


def test_what_is_documented() -> None:
    sets = pl.Series([["HIV; stage 2", "asthma"], ["a\\b"]])
    assert as_cells(sets).to_list() == [r"HIV\; stage 2;asthma", r"a\\b"]
