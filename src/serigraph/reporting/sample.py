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
import polars.selectors as cs
from numpy.typing import NDArray

from serigraph.engines import Plan, VerifiedRelease
from serigraph.model import Past
from serigraph.recoding import record_columns, regions_of
from serigraph.recoding.records import COLUMN
from serigraph.recoding.tables import COUNT, GROUP, VALUE
from serigraph.reporting.risk import PieceRisk, measure_risk

ROWS = 12

Row = dict[str, str]  # cells by column


@dataclass(frozen=True)
class DraftRisk(PieceRisk):
    """The figures of a draft, and a sample of its records."""

    before: tuple[Row, ...] = ()
    after: tuple[Row, ...] = ()


def measure_draft(made: VerifiedRelease, plan: Plan, past: Past, past_ids: pl.Series) -> DraftRisk:
    """The figures of a draft for its documents and for the publisher."""
    risk = measure_risk(made, plan, past, past_ids)
    known: dict[str, Any] = {each.name: getattr(risk, each.name) for each in fields(risk)}
    before, after = _sample(made, plan)
    return DraftRisk(**known, before=before, after=after)


def _sample(made: VerifiedRelease, plan: Plan) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Records drawn by lot."""
    proof, population = made.proof, made.population
    present = np.flatnonzero(proof.present)
    drawn = secrets.SystemRandom().sample(range(len(present)), min(ROWS, len(present)))
    members = present[np.array(drawn, dtype=np.int64)]
    places = population.ids.search_sorted(proof.ids.gather(members)).to_numpy()
    of_record = np.cumsum(population.present) - 1
    own = _own(made, plan, of_record[places])
    quasi = pl.DataFrame(
        [
            domain.values.gather(codes[places]).cast(pl.String).alias(domain.name)
            for domain, codes in zip(population.domains, population.codes, strict=True)
        ]
    )
    before = quasi.hstack(own)
    group = proof.group[members].astype(np.int64)
    if plan.form == "bucketised":
        numbers = pl.Series(GROUP, group).cast(pl.String)
        after = quasi.insert_column(0, numbers).hstack(_held_by(made, plan, numbers))
    else:
        if made.boxes is None:
            return _rows(before), ()
        together = [
            population.ids.search_sorted(proof.ids.filter(pl.Series(proof.group == each)))
            for each in group.tolist()
        ]
        low, high = (each[group] for each in made.boxes)
        regions = regions_of(population, [each.to_numpy() for each in together], low, high)
        after = regions.hstack(own)
    return _rows(before), _rows(after)


def _own(made: VerifiedRelease, plan: Plan, records: NDArray[np.int64]) -> pl.DataFrame:
    """The columns of these records that are published beside quasi-identifiers, as text."""
    if plan.records is not None:
        return _as_cells(record_columns(made.population, plan.records, records))
    held = made.population.values.gather(records).alias(plan.sensitive)
    return _as_cells(pl.DataFrame([held]))


def _held_by(made: VerifiedRelease, plan: Plan, groups: pl.Series) -> pl.DataFrame:
    """What each of these groups of a bucketised release shows, with how often: cells of a column
    or, of columns that are published together, whole records."""
    shown = _as_cells(made.tables["sensitive"]).filter(pl.col(GROUP).is_in(groups.to_list()))
    if plan.records is None:
        columns = [plan.sensitive]
        shown = shown.with_columns(pl.lit(plan.sensitive).alias(COLUMN))
    elif plan.records.apart:
        columns = [each.name for each in plan.records.sensitive] + made.population.plain.columns
    else:
        columns = [", ".join(shown.drop(GROUP).columns)]
        record = pl.concat_str(pl.exclude(GROUP).fill_null(""), separator=" | ")
        shown = shown.select(GROUP, record.alias(VALUE), pl.lit(columns[0]).alias(COLUMN))
        shown = shown.group_by(GROUP, COLUMN, VALUE).len(COUNT)
    in_order = shown.sort(pl.col(COUNT).cast(pl.Int64), VALUE, descending=[True, False])
    cells = in_order.group_by(GROUP, COLUMN, maintain_order=True).agg(
        pl.format("{} {}", COUNT, VALUE).str.join(", ").alias(VALUE)
    )
    held = {(group, column): cell for group, column, cell in cells.iter_rows()}
    return pl.DataFrame(
        {name: [held.get((group, name), "") for group in groups] for name in columns}
    )


def _as_cells(table: pl.DataFrame) -> pl.DataFrame:
    """The table as text; a set is a cell with its values."""
    lists, others = cs.list(), ~cs.list()
    return table.with_columns(
        lists.cast(pl.List(pl.String)).list.join(", "), others.cast(pl.String)
    )


def _rows(table: pl.DataFrame) -> tuple[Row, ...]:
    texts = table.with_columns(pl.all().cast(pl.String).fill_null(""))
    return tuple(texts.iter_rows(named=True))
