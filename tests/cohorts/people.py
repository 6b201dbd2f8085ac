"""Small populations for tests of cohorts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from serigraph.model import Domain, Population, ProtectedValue


def population(
    ids: Sequence[int],
    held: Mapping[int, Sequence[str]],
    *,
    away: Sequence[int] = (),
    persisting: Sequence[str] = ("s",),
    transient: Sequence[str] = (),
    threshold: Fraction = Fraction(1, 2),
    classes: Mapping[str, Sequence[str]] | None = None,
    columns: int = 2,
    seed: int = 1,
) -> Population:
    """People at random places that depend on their ids alone; the value of the others is none."""
    ids = sorted(ids)
    places = np.random.default_rng(seed).integers(0, 50, (columns, max(ids, default=0) + 1))
    values = [list(held.get(i, ["none"])) for i in ids if i not in away]
    classes = classes or {}
    names = sorted({*persisting, *transient, *classes})
    counts = {name: set(classes.get(name, [name])) for name in names}
    held_by = [
        [v for v, name in enumerate(names) if i not in away and counts[name] & set(held.get(i, []))]
        for i in ids
    ]
    return Population(
        ids=pl.Series(ids, dtype=pl.Int64),
        present=np.array([i not in away for i in ids], dtype=np.bool_),
        domains=tuple(Domain(f"q{d}", "numeric", pl.Series(range(50))) for d in range(columns)),
        codes=places[:, ids].astype(np.int32).reshape(columns, len(ids)),
        protected=tuple(
            ProtectedValue(
                name,
                threshold,
                tuple(classes.get(name, ())),
                "transient" if name in transient else "any",
            )
            for name in names
        ),
        held_start=np.cumsum([0, *map(len, held_by)]).astype(np.int64),
        held=np.array([v for each in held_by for v in each], dtype=np.int32),
        values=pl.Series(values, dtype=pl.List(pl.String)),
        digest="",
    )
