"""Some records as the table has them, beside what the release shows of each.

This holds cells of the table: it is for the publisher alone, and goes into no document of a
release.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from serigraph.attacking.draft import attack_draft
from serigraph.engines import Plan, VerifiedRelease
from serigraph.model import Past
from serigraph.recoding import as_text, regions_of
from serigraph.recoding.tables import COUNT, GROUP, VALUE
from serigraph.reporting.risk import PieceRisk, measure_risk

ROWS = 12

Row = dict[str, str]  # cells by column


@dataclass(frozen=True)
class DraftRisk(PieceRisk):
    """The figures of a draft, which is always attacked, and a sample of its records."""

    before: tuple[Row, ...] = ()
    after: tuple[Row, ...] = ()


def measure_draft(made: VerifiedRelease, plan: Plan, past: Past, past_ids: pl.Series) -> DraftRisk:
    """The figures of a draft for its documents and for the publisher."""
    risk = measure_risk(made, plan, past, past_ids)
    known: dict[str, Any] = {each.name: getattr(risk, each.name) for each in fields(risk)}
    before, after = _sample(made, plan)
    known["findings"] = risk.findings or attack_draft(made, plan)
    return DraftRisk(**known, before=before, after=after)


def _sample(made: VerifiedRelease, plan: Plan) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Records drawn by lot."""
    proof, population = made.proof, made.population
    present = np.flatnonzero(proof.present)
    drawn = secrets.SystemRandom().sample(range(len(present)), min(ROWS, len(present)))
    members = present[np.array(drawn, dtype=np.int64)]
    places = population.ids.search_sorted(proof.ids.gather(members)).to_numpy()
    of_record = np.cumsum(population.present) - 1
    held = population.values.gather(of_record[places]).cast(pl.List(pl.String))
    quasi = pl.DataFrame(
        [
            domain.values.gather(codes[places]).cast(pl.String).alias(domain.name)
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ]
    )
    before = quasi.with_columns(_listed(held).alias(plan.sensitive))
    group = proof.group[members].astype(np.int64)
    if plan.form == "bucketised":
        shown = as_text(made.tables["sensitive"])
        numbers = pl.Series(GROUP, group).cast(pl.String)
        own = pl.Series(plan.sensitive, [_held_by(shown, each) for each in group.tolist()])
        after = quasi.insert_column(0, numbers).with_columns(own)
    else:
        if made.boxes is None:
            return _rows(before), ()
        together = [
            population.ids.search_sorted(proof.ids.filter(pl.Series(proof.group == each)))
            for each in group.tolist()
        ]
        low, high = (each[group] for each in made.boxes)
        regions = regions_of(population, [each.to_numpy() for each in together], low, high)
        after = regions.with_columns(_listed(held).alias(plan.sensitive))
    return _rows(before), _rows(after)


def _listed(held: pl.Series) -> pl.Series:
    return held.list.join(", ")


def _held_by(shown: pl.DataFrame, group: int) -> str:
    """What a group of a bucketised release holds."""
    rows = shown.filter(pl.col(GROUP) == group).sort(COUNT, VALUE, descending=[True, False])
    return ", ".join(f"{row[COUNT]} {row[VALUE]}" for row in rows.iter_rows(named=True))


def _rows(table: pl.DataFrame) -> tuple[Row, ...]:
    texts = table.with_columns(pl.all().cast(pl.String).fill_null(""))
    return tuple(texts.iter_rows(named=True))
