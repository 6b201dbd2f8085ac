"""Whether a table equals an earlier one must not decide whether it can be published."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import serigraph
from publishing.clinic import new_series
from serigraph.errors import AlreadyPublished

PEOPLE, RELEASES = 5, 2
POLICY = f"""
version = 1
[person]
id = "id"
type = "integer"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["flu"]
persistence = {{ default = "transient" }}
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = {RELEASES}
[output]
files = ["parquet"]
"""


def table(holder: int) -> pl.DataFrame:
    values = ["flu" if each == holder else "none" for each in range(PEOPLE)]
    return pl.DataFrame({"id": range(PEOPLE), "age": [0] * PEOPLE, "diagnosis": values})


def test_every_world_can_be_published(tmp_path: Path) -> None:
    """Nobody is likelier to be a holder because some series of tables never come out."""
    worlds = list(itertools.product(range(PEOPLE), repeat=RELEASES))
    ever, claimed = [0] * PEOPLE, set()
    for number, holders in enumerate(worlds):
        series = new_series(tmp_path / str(number), POLICY)
        for holder in holders:
            made = serigraph.publish(table(holder), series, same_table=True)
        claimed.add(made.figures["worst_in_series"]["probability"])
        for person in set(holders):
            ever[person] += 1
    assert {Fraction(each, len(worlds)) for each in ever} == {Fraction(each) for each in claimed}


def test_it_is_taken_for_a_mistake_until_it_is_confirmed(tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", POLICY)
    serigraph.publish(table(1), series)
    with pytest.raises(AlreadyPublished, match="--same-table"):
        serigraph.publish(table(1), series)
    assert serigraph.publish(table(1), series, same_table=True).record.number == 2
