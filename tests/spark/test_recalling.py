"""What tasks read of a ledger is what one machine recalls of it, wherever their batches end."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from benchmarks import speed_data as data

import serigraph
from serigraph.engines.spark import recalling
from serigraph.engines.spark.pieces import past_of
from serigraph.engines.spark.recalling import RecallCompositions, RecallMembers
from serigraph.ledger import Series
from serigraph.model import Past

NAMES = tuple(str(name) for name in data.NAMES[:-1])  # of one value nobody asks


def read(task: Any, files: list[dict[str, object]]) -> pl.DataFrame:
    batches = task(iter([pa.RecordBatch.from_pylist(files)]))
    return pl.concat(pl.DataFrame(batch) for batch in batches)


def exposures(history: Past) -> list[list[list[tuple[int, int, int]]]]:
    """For each person and release the value, the count and the size of every exposure."""
    held = history.held
    kinds = list(zip(held.value.tolist(), held.count.tolist(), held.size.tolist(), strict=True))
    groups = [
        [kinds[each] for each in of_group.tolist()]
        for of_group in np.split(held.exposure, held.start[1:-1])
    ]
    return [[groups[g] if g >= 0 else [] for g in person] for person in history.group.tolist()]


@pytest.mark.parametrize("rows", [7, 1_000_000])  # groups end in the middle of a batch, or not
def test_a_history_in_pieces(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "_ROWS", rows)
    series = Series.create(tmp_path / "series", {"policy.toml": data.policy().encode()})
    for release in (1, 2):
        serigraph.publish(
            data.table(900, release), series, label=str(release), allow_suppression=True
        )
    folders = [series.path / "ledger" / f"{number:04d}" for number in (1, 2)]
    people = [folder / "people.parquet" for folder in folders]
    first = [0, *accumulate(pl.read_parquet(path).height for path in people)]
    members = read(
        RecallMembers(pl.Int64(), tuple(people), tuple(first)),
        [{"release": n, "path": str(f / "members.parquet")} for n, f in enumerate(folders, 1)],
    )
    compositions = read(
        RecallCompositions(NAMES),
        [
            {
                "release": number,
                "size": "size",
                "groups": str(folder / "groups.parquet"),
                "values": str(folder / "values.parquet"),
            }
            for number, folder in enumerate(folders, 1)
        ],
    )
    asked = members.group_by("id").agg(pl.col("was").alias("past")).sort("id")
    here = series.history(asked["id"], NAMES)
    assert exposures(past_of(asked, compositions, 2)) == exposures(here)
    assert any(any(person) for person in exposures(here))
