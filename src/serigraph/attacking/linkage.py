"""Linkage: records of two releases are put together through exact rows and unprotected values.

The adversary knows quasi-identifiers, and that unprotected values last. Where all records of a
group have the same value, everybody in it is known to have it. In the next release such people are
found again: if a group shows the value at least as often as it has people known to have it, these
are struck off the suspects of all other values, and n_s/(n - those) is left. Sweeney (2002);
Malin and Sweeney (2004) on trails through several releases.

Measured: one suspect, drawn by lot, of each group in which somebody could be struck off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.attacking.evidence import Evidence, Rows, Seen, one_of_each
from serigraph.attacking.scoring import Guesses, Risk, holding, together


@dataclass(frozen=True)
class Linkage:
    name: str = "linkage by other values"
    risk: Risk = "linkability"

    def guess(self, evidence: Evidence, draw: np.random.Generator) -> Guesses | str:
        if any(seen.rows is None for seen in evidence.releases):
            return "it needs the rows of the releases: give the tables (--raw)"
        if len(evidence.releases) < 2:
            return "it compares releases, and there is one"
        protected = frozenset(evidence.values)
        known = pl.DataFrame(schema={"person": pl.Int64, "value": pl.String})
        parts = []
        for j, seen in enumerate(evidence.releases):
            assert seen.rows is not None
            shown = _shown(seen.rows, protected)
            struck = _struck(known, shown, seen)
            parts += [
                _suspects(evidence, j, value, struck, draw) for value in range(len(evidence.values))
            ]
            fresh = _certain(shown, seen)
            known = pl.concat([known, fresh]).unique("person", keep="last")
        return together(parts)


def _shown(rows: Rows, protected: frozenset[str]) -> pl.DataFrame:
    """How many records of each group have each unprotected value, and how many records it has."""
    frame = pl.DataFrame({"group": rows.group, "value": rows.values}).filter(pl.col("group") >= 0)
    records = frame.group_by("group").len("records")
    single = frame.explode("value").drop_nulls()
    single = single.filter(~pl.col("value").is_in(list(protected)))
    return single.group_by("group", "value").len("count").join(records, on="group")


def _certain(shown: pl.DataFrame, seen: Seen) -> pl.DataFrame:
    """The people of groups whose records all have one value."""
    sizes = pl.DataFrame({"group": np.arange(len(seen.size)), "size": seen.size})
    sure = shown.join(sizes, on="group").filter(
        (pl.col("count") == pl.col("records")) & (pl.col("records") == pl.col("size"))
    )
    people = pl.DataFrame({"person": np.arange(len(seen.group)), "group": seen.group})
    return people.join(sure, on="group").select("person", "value")


def _struck(known: pl.DataFrame, shown: pl.DataFrame, seen: Seen) -> NDArray[np.bool_]:
    """Who must have another value than a protected one, if unprotected values last."""
    here = known.with_columns(
        group=pl.Series(seen.group[known["person"].to_numpy()], dtype=pl.Int64)
    )
    number = here.group_by("group", "value").len("people")
    fits = shown.join(number, on=["group", "value"]).filter(pl.col("people") <= pl.col("count"))
    found = np.zeros(len(seen.group), dtype=np.bool_)
    found[here.join(fits, on=["group", "value"])["person"].to_numpy()] = True
    return found


def _suspects(
    evidence: Evidence,
    release: int,
    value: int,
    struck: NDArray[np.bool_],
    draw: np.random.Generator,
) -> Guesses:
    seen = evidence.releases[release]
    counts = seen.counts(value)
    groups = np.where(seen.group < 0, len(seen.size), seen.group)
    off = np.bincount(groups[struck], minlength=len(counts))
    person = np.flatnonzero(~struck & (counts[seen.group] > 0) & (off[groups] > 0))
    group = seen.group[person]
    left = np.maximum(seen.size[group] - off[group], counts[group])
    picked = np.zeros(len(person), dtype=np.bool_)
    picked[one_of_each(group, np.zeros(len(person)), draw)] = True
    values = np.full(len(person), value)
    return holding(evidence, person, values, counts[group] / left, picked, release)
