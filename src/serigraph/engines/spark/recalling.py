"""How tasks read the ledger: files of memberships with people's ids, and of compositions.

Numbers ascend in a file of members, and ids lie in the order of their numbers: a task reads the
ids it needs beside its memberships, so joining the two needs no shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from serigraph.engines.spark.pieces import batches_of, past_key
from serigraph.errors import ImpossibleState, LedgerDamaged
from serigraph.ledger.parts import NOT_ADDED_UP, VALUE_TWICE, open_part, read_ids
from serigraph.texts import composed

_ROWS = 1_000_000  # per block


@dataclass(frozen=True)
class RecallMembers:
    """Reads the files that a frame names, by ``release`` and ``path``."""

    id_type: pl.DataType
    people: tuple[Path, ...]
    first: tuple[int, ...]  # the number of the first person in each file, and the first free one

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                for rows in _read(Path(file["path"]), ["person", "group"]):
                    number = rows["person"].cast(pl.Int64)
                    yield from batches_of(
                        pl.DataFrame(
                            {
                                "id": self._ids(number.to_numpy()),
                                "number": number,
                                "was": past_key(file["release"], rows["group"]),
                            }
                        )
                    )

    def _ids(self, number: NDArray[np.int64]) -> pl.Series:
        """The ids of people; ascending numbers lie close together."""
        low, end = int(number.min()), int(number.max()) + 1
        ids = pl.concat(
            read_ids(path, max(low, first) - first, min(end, after) - first)
            for path, first, after in zip(self.people, self.first, self.first[1:], strict=False)
            if first < end and low < after
        )
        asked = ids.gather(number - low).cast(self.id_type, strict=False)
        return composed(asked) if asked.dtype == pl.String else asked


@dataclass(frozen=True)
class RecallCompositions:
    """Reads the files that a frame names, by ``release``, ``groups``, ``values`` and the column of
    ``size`` that the adversary of that release had to choose from.

    One row per group that held anything protected now.
    """

    protected: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = pl.Enum(self.protected)
        for batch in batches:
            for file in batch.to_pylist():
                with open_part(Path(file["groups"])) as opened:
                    groups = pl.DataFrame(opened.read())
                sizes = groups.select("group", pl.col(file["size"]).cast(pl.Int64).alias("size"))
                for rows in _read(Path(file["values"]), ["group", "value", "count"]):
                    forms = composed(rows["value"].cast(pl.String))
                    if forms.n_unique() < rows["value"].n_unique():
                        raise LedgerDamaged(VALUE_TWICE, where="ledger", remedy=NOT_ADDED_UP)
                    held = rows.with_columns(
                        forms.cast(names, strict=False).to_physical(),
                        pl.col("count").cast(pl.Int64),
                    ).drop_nulls()
                    packed = held.group_by("group").agg(pl.col("value").cast(pl.Int32), "count")
                    packed = packed.join(sizes, on="group", how="left")
                    if packed["size"].null_count():
                        raise ImpossibleState(
                            "values and groups of a release lie in different files"
                        )
                    was = past_key(file["release"], packed["group"]).alias("was")
                    yield from batches_of(packed.select(was, "size", "value", "count"))


def _read(path: Path, columns: list[str]) -> Iterator[pl.DataFrame]:
    with open_part(path) as file:
        for rows in file.iter_batches(_ROWS, columns=columns):
            if rows.num_rows:
                yield pl.DataFrame(rows)
