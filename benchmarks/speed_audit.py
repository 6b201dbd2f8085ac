"""The audit of a large ledger, beside what DuckDB needs to join and aggregate the same parts.

Both sides start from the Parquet files on the disk and end with the figures over the series. DuckDB
gets the least that an audit needs: the survival of every (person, value) pair, the largest
probability and how many pairs are above the threshold. The audit also compares every part with its
digest, decides in fractions where floats cannot, and gives the figures after each release and
under three further assumptions.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import polars as pl

from serigraph.auditing.from_ledger import evidence_of
from serigraph.auditing.result import Examined, examine
from serigraph.ledger import ReleaseDraft, Series
from serigraph.model import Proof

THRESHOLD = Fraction(1, 2)
Result = TypeVar("Result")
_GROUP_SIZE = 30
_VALUES = 200

_QUERY = """
    WITH pairs AS (
        SELECT m.person, v.value, sum(ln(1 - v.count / g.size)) AS log_survival
        FROM read_parquet('{ledger}/*/members.parquet', filename = 'part') m
        JOIN read_parquet('{ledger}/*/groups.parquet', filename = 'part') g
          ON parse_dirpath(m.part) = parse_dirpath(g.part) AND m."group" = g."group"
        JOIN read_parquet('{ledger}/*/values.parquet', filename = 'part') v
          ON parse_dirpath(v.part) = parse_dirpath(g.part) AND v."group" = g."group"
        GROUP BY m.person, v.value
    )
    SELECT count(*), 1 - exp(min(log_survival)), avg(1 - exp(log_survival)),
           count(*) FILTER (1 - exp(log_survival) > {threshold})
    FROM pairs
"""


@dataclass(frozen=True)
class AuditSpeed:
    """Seconds of both sides, and what both came to."""

    people: int
    releases: int
    pairs: int
    audit_seconds: float
    duckdb_seconds: float
    largest_of_audit: float
    largest_of_duckdb: float

    @property
    def ratio(self) -> float:
        return self.audit_seconds / self.duckdb_seconds


def measure_audit(
    people: int = 1_000_000, releases: int = 10, *, holders: float = 0.2, rounds: int = 1
) -> AuditSpeed:
    """Make a ledger of this size, and audit it in both ways; the best of several rounds.

    A share ``holders`` of the people holds a protected value in each release.
    """
    with tempfile.TemporaryDirectory() as folder:
        series = _ledger(Path(folder) / "clinic", people, releases, holders)
        ours = min((_timed(lambda: _audit(series)) for _ in range(rounds)), key=_seconds)
        theirs = min((_timed(lambda: _duckdb(series)) for _ in range(rounds)), key=_seconds)
    audit, seconds = ours
    (pairs, largest, _, _), duckdb_seconds = theirs
    found = audit.audit.over_all
    if found.pairs != pairs:
        raise SystemExit(f"the audit found {found.pairs:,} pairs, DuckDB {pairs:,}")
    return AuditSpeed(
        people, releases, found.pairs, seconds, duckdb_seconds, float(found.largest), largest
    )


def _audit(series: Series) -> Examined:
    return examine(evidence_of(series, series.releases()), THRESHOLD)


def _duckdb(series: Series) -> tuple[int, float, float, int]:
    query = _QUERY.format(ledger=series.path / "ledger", threshold=float(THRESHOLD))
    with duckdb.connect() as connection:
        row = connection.execute(query).fetchone()
    if row is None:
        raise SystemExit("DuckDB found no pairs")
    return int(row[0]), float(row[1]), float(row[2]), int(row[3])


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def _seconds(timed: tuple[object, float]) -> float:
    return timed[1]


def _ledger(path: Path, people: int, releases: int, holders: float) -> Series:
    series = Series.create(path, {"policy.toml": b""})
    draw = np.random.default_rng(1)
    ids = pl.Series(np.arange(people))
    order = np.arange(people)
    for number in range(releases):
        # Most people stay with their neighbours, as in groups that are formed by locality.
        moved = draw.random(people) < 0.2
        order[moved] = draw.permutation(order[moved])
        with series.writing() as writer:
            writer.commit(_proof(ids, order, draw, holders), _draft(number))
    return series


def _proof(ids: pl.Series, order: np.ndarray, draw: np.random.Generator, holders: float) -> Proof:
    people = len(ids)
    group = np.empty(people, dtype=np.uint32)
    group[order] = np.arange(people) // _GROUP_SIZE
    groups = int(group.max()) + 1
    holding = np.flatnonzero(draw.random(people) < holders)
    value = draw.integers(0, _VALUES, len(holding))
    cell, count = np.unique(group[holding].astype(np.int64) * _VALUES + value, return_counts=True)
    names = pl.Series([f"value {number:03}" for number in range(_VALUES)])
    size = np.bincount(group, minlength=groups)
    return Proof(
        ids=ids,
        group=group,
        present=np.ones(people, dtype=np.bool_),
        size=size,
        present_size=size,
        value_group=(cell // _VALUES).astype(np.uint32),
        value_name=names.gather(cell % _VALUES),
        value_count=count,
        largest=Fraction(0),
        pairs=0,
        exact_pairs=0,
        holder=holding,
        held=value.astype(np.int32),
        protected_names=tuple(names),
    )


def _draft(number: int) -> ReleaseDraft:
    return ReleaseDraft(
        label=f"r{number + 1}",
        published_at=datetime(2024, 1, 1, tzinfo=UTC),
        table_digest=f"table {number}",
        policy={"protected": {"thresholds": {}, "classes": {}}},
        protected={"rule": "all but", "values": []},
        threshold=str(THRESHOLD),
        strategy="constant releases=20 replan=true",
        adversary="presence unknown",
        summary={},
    )


def main() -> None:
    """Print both figures; the first argument is the number of people."""
    measured = measure_audit(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    print(json.dumps(asdict(measured) | {"ratio": measured.ratio}, indent=2))


if __name__ == "__main__":
    main()
