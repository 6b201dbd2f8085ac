"""What a task counts about the ids that it merges."""

from __future__ import annotations

import polars as pl

from serigraph.engines.spark.cells import TABLE
from serigraph.engines.spark.merging import FACTS, LEDGER, Merge, added_up
from serigraph.tables.people import column_name


def alike_to_ledger(table: list[str], ledger: list[str]) -> int:
    """How many ids of the table the ledger writes in another way, by a task that has them all."""
    ids = [*table, *ledger]
    rows = pl.DataFrame(
        {
            "source": [TABLE] * len(table) + [LEDGER] * len(ledger),
            "id": ids,
            "is_odd": [False] * len(ids),
            column_name(0): [0] * len(ids),
            "values": [["flu"]] * len(ids),
            "number": [None] * len(table) + list(range(len(ledger))),
            "was": [None] * len(table) + [0] * len(ledger),
        },
        schema_overrides={"number": pl.Int64, "was": pl.Int64},
    )
    return added_up(Merge(1)(rows)[FACTS].drop_nulls())["alike_ledger"]


def test_a_second_spelling_beside_a_known_one_is_found() -> None:
    assert alike_to_ledger(["007", "7"], ["007"]) == 1
    assert alike_to_ledger(["007", "7"], ["007", "7"]) == 0


def test_other_capitals_than_those_of_the_ledger_are_found() -> None:
    assert alike_to_ledger(["p1", "P2", "P3"], ["P1", "P2"]) == 1
