"""One row per person: what the table, the registry and the ledger have, merged in a task."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from serigraph.engines.spark.cells import REGISTRY, TABLE
from serigraph.tables.look_alikes import ids_written_otherwise, known_otherwise
from serigraph.tables.people import column_name, has_repeats, one_row_a_person, value_sets

LEDGER = "the ledger"
FACTS = "facts"  # pickled, in a task's only row that is not a person


@dataclass(frozen=True)
class Merge:
    """Merges all rows of some ids, and counts what is wrong with them.

    Rows have ``source``, ``id`` and either ``is_odd``, codes and ``values``, or the ``number`` of
    a person in the ledger and one of the person's past groups (``was``).
    """

    columns: int  # number of quasi-identifiers

    def schema(self, id_type: str) -> str:
        codes = "".join(f", {name} int" for name in self._codes())
        return (
            f"id {id_type}, number long, present boolean{codes}, values array<string>, "
            f"past array<long>, {FACTS} binary"
        )

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        codes, facts = self._codes(), Counter[str]()
        of = {
            source: rows.filter(pl.col("source") == source) for source in (TABLE, REGISTRY, LEDGER)
        }
        for source, short in ((TABLE, "t"), (REGISTRY, "r")):
            facts += _wrong(of[source], codes, short)
        facts["empty"] = int((of[TABLE]["values"].list.len() == 0).sum())
        table, registry = (_people(of[source], codes) for source in (TABLE, REGISTRY))
        table = table.with_columns(_values(of[TABLE], table["id"]))
        both = table.join(registry, on="id", suffix="_listed")
        differing = both.select(
            pl.any_horizontal(pl.col(name) != pl.col(f"{name}_listed") for name in codes).sum()
        )
        facts += Counter(present=table.height, both=both.height, differing=differing.item())
        absent = registry.join(table, on="id", how="anti")
        everybody = pl.concat(
            [table.with_columns(present=True), absent.with_columns(present=False)], how="diagonal"
        )
        facts["people"] = everybody.height
        past = of[LEDGER].group_by("id").agg(pl.col("number").first(), pl.col("was").alias("past"))
        known = everybody.join(past, on="id", how="semi")["present"]
        facts += Counter(known_present=int(known.sum()), known_absent=int((~known).sum()))
        if everybody["id"].dtype == pl.String:
            unknown = everybody.join(past, on="id", how="anti")["id"]
            facts += Counter(
                alike_registry=ids_written_otherwise(table["id"], registry["id"]),
                alike_ledger=known_otherwise(unknown, past["id"]),
            )
        counted = pl.DataFrame({FACTS: [pickle.dumps(dict(facts))]})
        # Spark takes quadratic time over long runs of null lists.
        merged = everybody.join(past, on="id", how="left").with_columns(
            pl.col("past").fill_null([]),
        )
        return pl.concat([merged, counted], how="diagonal").select(
            "id", "number", "present", *codes, "values", "past", FACTS
        )

    def _codes(self) -> list[str]:
        return [column_name(number) for number in range(self.columns)]


def _people(rows: pl.DataFrame, codes: list[str]) -> pl.DataFrame:
    known = rows.filter(pl.col("id").is_not_null())
    return one_row_a_person(known["id"], {name: known[name] for name in codes})


def _values(rows: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """The set of values of each person, in the order of ``ids``, which ascend."""
    known = rows.filter(pl.col("id").is_not_null()).sort("id")
    if not has_repeats(known["id"]):
        return known["values"]
    pairs = known.select(ids.search_sorted(known["id"]).alias("person"), "values")
    each = pairs.explode("values").drop_nulls()
    return value_sets(len(ids), each["person"], each["values"]).alias("values")


def _wrong(rows: pl.DataFrame, codes: list[str], short: str) -> Counter[str]:
    """How many rows have no id or an odd one, and how many people have differing rows."""
    facts = {f"{short}_missing": rows["id"].null_count(), f"{short}_odd": rows["is_odd"].sum()}
    known = rows.filter(pl.col("id").is_not_null())
    if has_repeats(known["id"]):
        several = known.filter(pl.col("id").is_duplicated())
        differing = several.group_by("id").agg(pl.col(codes).n_unique() > 1)
        facts |= {f"{short}_repeated": differing.height}
        facts |= {f"{short}_{name}": differing[name].sum() for name in codes}
    return Counter(facts)


def added_up(counted: pl.Series) -> Mapping[str, int]:
    """The sum of what the tasks counted."""
    total = Counter[str]()
    for each in counted:
        total.update(pickle.loads(each))
    return total
