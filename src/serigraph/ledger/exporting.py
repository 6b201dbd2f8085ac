"""The ledger for other readers: Parquet files whose columns are a contract.

Change the contract only together with a version: see ``docs/reference/ledger.md``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

from serigraph.errors import InputRefused
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import (
    COHORTS,
    EXCLUDED,
    GROUPS,
    HOLDERS,
    MEMBERS,
    RETIRED,
    VALUES,
    has_part,
    read_part,
    read_people,
)
from serigraph.ledger.release import ReleaseRecord
from serigraph.ledger.storage import (
    ensure_folder,
    make_folder,
    make_private,
    move_durably,
    new_file,
    storage_errors,
    sync,
)
from serigraph.policy.classes import ProtectedClasses
from serigraph.privacy.gaps import threshold_left
from serigraph.privacy.thresholds import threshold_text
from serigraph.texts import qualified, unqualified

THRESHOLDS = "thresholds.parquet"
CLASSES = "classes.parquet"
RELEASES = "releases.parquet"
UNFINISHED = ".unfinished"

CONFIDENTIAL = (HOLDERS, COHORTS, RETIRED)  # written only if asked for; not in every release

_COLUMN_OF = {"value": "column", "class": "class_column"}  # in version 2 of the contract

_INT, _TEXT, _BOOL = pl.Int64(), pl.String(), pl.Boolean()

SCHEMAS: dict[str, pl.Schema] = {
    MEMBERS: pl.Schema({"release": _INT, "person": _TEXT, "group": _INT, "present": _BOOL}),
    GROUPS: pl.Schema(
        {"release": _INT, "group": _INT, "size": _INT, "present": _INT, EXCLUDED: _INT}
    ),
    VALUES: pl.Schema({"release": _INT, "group": _INT, "value": _TEXT, "count": _INT}),
    HOLDERS: pl.Schema({"release": _INT, "person": _TEXT, "value": _TEXT}),
    COHORTS: pl.Schema({"release": _INT, "person": _TEXT, "cohort": _INT}),
    RETIRED: pl.Schema({"release": _INT, "person": _TEXT}),
    THRESHOLDS: pl.Schema(
        {"release": _INT, "value": _TEXT, "threshold": _TEXT, "persistence": _TEXT}
    ),
    CLASSES: pl.Schema({"release": _INT, "class": _TEXT, "value": _TEXT}),
    RELEASES: pl.Schema(
        {
            "release": _INT,
            "label": _TEXT,
            "published_at": _TEXT,
            "threshold": _TEXT,
            "strategy": _TEXT,
            "adversary": _TEXT,
            "known_members": _INT,
        }
    ),
}


def schema_of(name: str, releases: Iterable[ReleaseRecord]) -> pl.Schema:
    """The columns of a file. In a series with several sensitive columns, version 2 of the contract,
    every value comes with its column; a class across columns has none."""
    plain = SCHEMAS[name]
    if not any(release.has_several_columns for release in releases):
        return plain
    found: dict[str, pl.DataType] = {}
    for column, kind in plain.items():
        if column in _COLUMN_OF:
            found[_COLUMN_OF[column]] = _TEXT
        found[column] = kind
    return pl.Schema(found)


def export_ledger(
    layout: Layout, releases: tuple[ReleaseRecord, ...], folder: Path, *, confidential: bool = False
) -> None:
    """Write the ledger into a folder that is new or empty; who held what, and cohorts, only if
    ``confidential``."""
    with exporting(folder) as unfinished:
        people = read_people(layout, releases).with_columns(pl.col("id").cast(pl.String))
        for name in (MEMBERS, GROUPS, VALUES, *(CONFIDENTIAL if confidential else ())):
            frames = _frames(layout, releases, people, name)
            _write(unfinished / name, schema_of(name, releases), frames)
        held = {
            release.number: read_part(layout, release, VALUES)["value"].unique().cast(pl.String)
            for release in releases
        }
        write_terms(unfinished, releases, held)


@contextmanager
def exporting(folder: Path) -> Iterator[Path]:
    """A folder below the given one to write all files to; when all are complete they are moved up,
    ``releases.parquet`` last: if it is there, the export is whole. Only the owner can read it."""
    unfinished = folder / UNFINISHED
    with storage_errors(folder):
        if os.path.lexists(folder) and not _is_free(folder):
            raise InputRefused(
                "the folder to export to is not empty",
                where=str(folder),
                remedy="give a new or an empty folder",
            )
        shutil.rmtree(unfinished, ignore_errors=True)
        ensure_folder(folder)
        make_private(folder)
        make_folder(unfinished)
        try:
            yield unfinished
            for path in sorted(unfinished.iterdir(), key=lambda path: path.name == RELEASES):
                move_durably([(path, folder / path.name)])
            sync(folder.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def write_terms(
    folder: Path, releases: tuple[ReleaseRecord, ...], held: Mapping[int, Iterable[str]]
) -> None:
    """Write what the catalog knows: the releases, the thresholds of their values, the classes.

    ``held`` are the protected values in the groups of each release, by its number.
    """
    rows: dict[str, Callable[[ReleaseRecord], pl.DataFrame]] = {
        THRESHOLDS: lambda release: _thresholds(release, held[release.number]),
        CLASSES: lambda release: _classes(release, held[release.number]),
        RELEASES: _release_row,
    }
    for name, row in rows.items():
        rows_of = (_numbered(row(each), each) for each in releases)
        _write(folder / name, schema_of(name, releases), rows_of)


def _frames(
    layout: Layout, releases: tuple[ReleaseRecord, ...], people: pl.DataFrame, name: str
) -> Iterator[pl.DataFrame]:
    """One frame per release, so that only one release is in memory at a time."""
    for release in releases:
        if name in CONFIDENTIAL and not has_part(release, name):
            continue
        rows = read_part(layout, release, name)
        if name == GROUPS and EXCLUDED not in rows.columns:
            rows = rows.with_columns(pl.lit(0).alias(EXCLUDED))
        if "person" in rows.columns:
            rows = rows.with_columns(people["id"].gather(rows["person"]).alias("person"))
        yield _numbered(rows, release)


def _numbered(rows: pl.DataFrame, release: ReleaseRecord) -> pl.DataFrame:
    rows = rows.with_columns(pl.lit(release.number).alias("release"))
    return _with_columns(rows) if release.has_several_columns else rows


def _with_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the column of every value beside it."""
    for name, its_column in _COLUMN_OF.items():
        if name not in rows.columns:
            continue
        texts = rows[name].cast(pl.String)
        split = {text: unqualified(text) for text in texts.unique()}
        rows = rows.with_columns(
            texts.replace_strict(
                {text: where or None for text, (where, _) in split.items()}, return_dtype=pl.String
            ).alias(its_column),
            texts.replace_strict(
                {text: value for text, (_, value) in split.items()}, return_dtype=pl.String
            ).alias(name),
        )
    return rows


def _release_row(release: ReleaseRecord) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "label": release.label,
            "published_at": release.published_at,
            "threshold": release.threshold,
            "strategy": release.strategy,
            "adversary": release.adversary,
            "known_members": release.known_members,
        }
    )


def _thresholds(release: ReleaseRecord, held: Iterable[str]) -> pl.DataFrame:
    """What groups may still spend, after suppression was charged, of the threshold of every
    protected value and class that a group held or the policy names, and what is assumed of it over
    time."""
    protected = release.policy.get("protected", {})
    own, classes = protected.get("thresholds", {}), protected.get("classes", {})
    chosen = release.protected
    listed = list(chosen["values"]) if chosen.get("rule") == "only" else []
    for column, own_choice in chosen.get("columns", {}).items():
        if own_choice["rule"] == "only":
            listed += [qualified(column, value) for value in own_choice["values"]]
    names = sorted({*held, *listed, *own, *classes})
    gaps = chosen.get("gap_survival", {})
    left = [
        threshold_left(Fraction(own.get(name, release.threshold)), Fraction(gaps.get(name, 1)))
        for name in names
    ]
    return pl.DataFrame(
        {
            "value": names,
            "threshold": [threshold_text(each) for each in left],
            "persistence": release.persistence_of(names),
        },
        schema={"value": _TEXT, "threshold": _TEXT, "persistence": _TEXT},
    )


def _classes(release: ReleaseRecord, held: Iterable[str]) -> pl.DataFrame:
    """The values of each class, or its interval."""
    classes = ProtectedClasses(release.policy).spelt(held)
    pairs = [(name, value) for name in sorted(classes) for value in classes[name]]
    return pl.DataFrame(pairs, schema={"class": _TEXT, "value": _TEXT}, orient="row")


def _write(path: Path, schema: pl.Schema, frames: Iterator[pl.DataFrame]) -> None:
    import pyarrow.parquet as pq  # slow to import, and only exporting needs it

    arrow_schema = _as_arrow(pl.DataFrame(schema=schema)).schema
    with new_file(path) as file:
        with pq.ParquetWriter(file, arrow_schema, compression="zstd", store_schema=False) as writer:
            for frame in frames:
                writer.write_table(_as_arrow(frame.select(schema.names()).cast(schema)))
        file.flush()
        os.fsync(file.fileno())


def _as_arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _is_free(folder: Path) -> bool:
    return folder.is_dir() and all(path.name == UNFINISHED for path in folder.iterdir())
