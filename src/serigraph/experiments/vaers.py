"""VAERS, the vaccine adverse event reports of the United States."""

from __future__ import annotations

import polars as pl

from serigraph.errors import TableError
from serigraph.experiments.source import PERSON, VALUE, Source
from serigraph.model import Kind

ID = "VAERS_ID"
_TERM = "TERM"
_SYMPTOMS = tuple(f"SYMPTOM{number}" for number in range(1, 6))
_KINDS: dict[str, Kind] = {"AGE_YRS": "numeric", "SEX": "categorical", "STATE": "categorical"}


def vaers_source(reports: pl.DataFrame, reactions: pl.DataFrame) -> Source:
    """From VAERSDATA and VAERSSYMPTOMS, or from reactions with one ``TERM`` a row.

    A report is a person; reports without age, sex or state are left out.
    """
    missing = [name for name in _KINDS if name not in reports.columns]
    symptoms = [name for name in (_TERM, *_SYMPTOMS) if name in reactions.columns]
    if missing or not symptoms:
        raise TableError(
            "this is not the layout of VAERS",
            remedy="give VAERSDATA files as reports and VAERSSYMPTOMS files as reactions",
            problems=[f"the reports have no column {name!r}" for name in missing]
            + ["the reactions have neither TERM nor SYMPTOM1"] * (not symptoms),
        )
    people = reports.select(
        pl.col(ID).cast(pl.String).alias(PERSON),
        pl.col("AGE_YRS").cast(pl.Float64, strict=False),
        pl.col("SEX").cast(pl.String),
        pl.col("STATE").cast(pl.String).str.to_uppercase(),
    )
    pairs = (
        reactions.select(pl.col(ID).cast(pl.String).alias(PERSON), *symptoms)
        .unpivot(on=symptoms, index=PERSON, value_name=VALUE)
        .select(PERSON, VALUE)
    )
    return Source.of("VAERS", people, pairs, _KINDS)
