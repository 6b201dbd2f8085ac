"""Order: rows lie in the file as they lay in the table.

The adversary knows in which order the table lists people (by id, by date of admission), or expects
one. Within a group it puts the first person beside the first record, and so on: rows that are
written without being shuffled undo the grouping. Sweeney (2002), the unsorted matching attack.

Measured: everybody whom this puts beside a record with a protected value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Rows, Seen
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class Order:
    name: str = "order of rows"
    risk: Risk = "linkability"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        del draw
        if evidence.listed is None or any(seen.rows is None for seen in evidence.releases):
            return "it needs the rows and the order of the tables: give the tables (--raw)"
        number = {name: index for index, name in enumerate(evidence.values)}
        parts = []
        for j, seen in enumerate(evidence.releases):
            assert seen.rows is not None
            person, record = beside(seen, seen.rows, evidence.listed)
            held = (
                pl.DataFrame({"person": person, "value": seen.rows.values.gather(record)})
                .explode("value")
                .filter(pl.col("value").is_in(list(number)))
            )
            value = held["value"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
            who = held["person"].to_numpy()
            everything = np.ones(len(who))
            parts.append(holding(evidence, who, value, everything, everything > 0, j))
        return together(parts)


def beside(
    seen: Seen, rows: Rows, listed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """People and records in groups with as many of one as of the other, in the order of each."""
    groups = len(seen.size)
    person = np.flatnonzero((seen.group >= 0) & (listed >= 0))
    record = np.flatnonzero(rows.group >= 0)
    people = np.bincount(seen.group[person], minlength=groups)
    records = np.bincount(rows.group[record], minlength=groups)
    fits = people == records
    person = person[fits[seen.group[person]]]
    record = record[fits[rows.group[record]]]
    person = person[np.lexsort((listed[person], seen.group[person]))]
    record = record[np.argsort(rows.group[record], kind="stable")]
    return person, record
