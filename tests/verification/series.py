"""A series whose next release is right only if all of its past is known.

Ann was in a group of three with one holder of HIV: with the threshold 1/2, a group that holds it
needs four people now if she is in it. Nobody else needs more than two. So she is with Eve, who is
her neighbour, if her past is forgotten in a generalised release; and with anybody in a bucketised
one, if her past is taken for that of Xenia.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from publishing.clinic import policy_text
from serigraph.ledger import Series

ANN, XENIA = "ann", "xenia"  # who are swapped
PROTECTED = "HIV"

Row = tuple[str, int, str]


def table(*rows: Row) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["patient", "age", "diagnosis"], orient="row")


FIRST = table((ANN, 20, "flu"), ("bob", 20, PROTECTED), ("cat", 20, "flu"))
SIX = table(*FIRST.rows(), ("dan", 20, "flu"), ("fay", 20, "flu"), ("gus", 20, PROTECTED))
OTHERS = table(("zoe", 50, "flu"), (XENIA, 50, "gout"))
NEXT = table(
    (ANN, 20, "flu"),
    ("eve", 21, PROTECTED),
    (XENIA, 80, "flu"),
    ("tom", 81, "gout"),
    ("una", 82, "flu"),
    ("vic", 83, "gout"),
)


def new_series(folder: Path, form: str = "generalised") -> Series:
    policy = policy_text(
        columns='[quasi_identifiers.age]\nkind = "numeric"\nunique_values = "publish"\n',
        protected=f'values = ["{PROTECTED}"]',
        strategy='name = "constant"\nreleases = 1\nreplan = true',
        output=f'form = "{form}"',
    )
    return Series.create(folder, {"policy.toml": policy.encode()})
