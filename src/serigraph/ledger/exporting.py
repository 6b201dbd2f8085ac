"""The ledger as others read it: four Parquet files whose columns are a contract.

Change the contract only together with a version: see ``docs/reference/ledger.md``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

from serigraph.errors import InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import GROUPS, MEMBERS, VALUES, read_part, read_people
from serigraph.ledger.release import ReleaseRecord
from serigraph.ledger.storage import storage_errors, sync

RELEASES = "releases.parquet"
UNFINISHED = ".unfinished"

_INT, _TEXT, _BOOL = pl.Int64(), pl.String(), pl.Boolean()

SCHEMAS: dict[str, pl.Schema] = {
    MEMBERS: pl.Schema({"release": _INT, "person": _TEXT, "group": _INT, "present": _BOOL}),
    GROUPS: pl.Schema({"release": _INT, "group": _INT, "size": _INT, "present": _INT}),
    VALUES: pl.Schema({"release": _INT, "group": _INT, "value": _TEXT, "count": _INT}),
    RELEASES: pl.Schema(
        {
            "release": _INT,
            "label": _TEXT,
            "published_at": _TEXT,
            "threshold": _TEXT,
            "strategy": _TEXT,
            "adversary": _TEXT,
        }
    ),
}


def export_ledger(layout: Layout, releases: tuple[ReleaseRecord, ...], folder: Path) -> None:
    """Write the four files into a folder that is new or empty."""
    with exporting(folder) as unfinished:
        people = read_people(layout, releases).with_columns(pl.col("id").cast(pl.String))
        for name, schema in SCHEMAS.items():
            _write(unfinished / name, schema, _frames(layout, releases, people, name))


@contextmanager
def exporting(folder: Path) -> Iterator[Path]:
    """A place below the folder for all four, which are moved up when all are complete,
    ``releases.parquet`` last: where it is, the export is whole."""
    unfinished = folder / UNFINISHED
    with storage_errors(folder):
        if os.path.lexists(folder) and not _is_free(folder):
            raise InputRefused(
                "the folder to export to is not empty",
                where=str(folder),
                remedy="give a new or an empty folder",
            )
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            yield unfinished
            for name in SCHEMAS:
                os.replace(unfinished / name, folder / name)
            sync(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def write_releases(path: Path, releases: tuple[ReleaseRecord, ...]) -> None:
    """Write ``releases.parquet`` alone."""
    rows = (
        _release_row(release).with_columns(pl.lit(release.number).alias("release"))
        for release in releases
    )
    _write(path, SCHEMAS[RELEASES], rows)


def _frames(
    layout: Layout, releases: tuple[ReleaseRecord, ...], people: pl.DataFrame, name: str
) -> Iterator[pl.DataFrame]:
    """One frame a release, so that only one release is in memory at a time."""
    for release in releases:
        yield _READERS[name](layout, release, people).with_columns(
            pl.lit(release.number).alias("release")
        )


def _release_row(release: ReleaseRecord) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "label": release.label,
            "published_at": release.published_at,
            "threshold": release.threshold,
            "strategy": release.strategy,
            "adversary": release.adversary,
        }
    )


def _members(layout: Layout, release: ReleaseRecord, people: pl.DataFrame) -> pl.DataFrame:
    members = read_part(layout, release, MEMBERS)
    return members.with_columns(people["id"].gather(members["person"]).alias("person"))


_READERS: dict[str, Callable[[Layout, ReleaseRecord, pl.DataFrame], pl.DataFrame]] = {
    RELEASES: lambda _, release, __: _release_row(release),
    MEMBERS: _members,
    GROUPS: lambda layout, release, _: read_part(layout, release, GROUPS),
    VALUES: lambda layout, release, _: read_part(layout, release, VALUES),
}


def _write(path: Path, schema: pl.Schema, frames: Iterator[pl.DataFrame]) -> None:
    import pyarrow.parquet as pq  # only whoever exports waits for it

    arrow_schema = _as_arrow(pl.DataFrame(schema=schema)).schema
    with open(path, "xb") as file:
        with pq.ParquetWriter(file, arrow_schema, compression="zstd", store_schema=False) as writer:
            for frame in frames:
                writer.write_table(_as_arrow(frame.select(schema.names()).cast(schema)))
        file.flush()
        os.fsync(file.fileno())


def _as_arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _is_free(folder: Path) -> bool:
    return folder.is_dir() and all(path.name == UNFINISHED for path in folder.iterdir())
