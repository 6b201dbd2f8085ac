"""The Parquet files of a release: who was in which group, and what each group held.

There are four kinds that every release has. A release made on one machine has one file of each; one
made on a cluster has several, numbered (``members-00000.parquet``), whose rows follow each other as
one file's would. Three kinds are not in every release: who was published as a holder (not in
releases of version 0.1 or of a cluster), who joined a cohort, and who retired from one (only where
values persist). Files are written once and never changed; ``encoding`` says how. Python reads them
only through ``open_part``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged, TableError
from serigraph.ledger.layout import Layout
from serigraph.ledger.release import IdType, ReleaseRecord
from serigraph.ledger.storage import (
    RESTORE,
    FileDigest,
    compare_here,
    digest_of,
    storage_errors,
)
from serigraph.texts import composed

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_ENDING = ".parquet"
PEOPLE, MEMBERS, GROUPS, VALUES, HOLDERS, COHORTS, RETIRED = (
    f"{name}{_ENDING}"
    for name in ("people", "members", "groups", "values", "holders", "cohorts", "retired")
)
EXCLUDED = "excluded"  # a column of GROUPS, where values exclude each other
VALUE_TWICE = "a release holds one value twice, in two Unicode forms"
NOT_ADDED_UP = "begin a new series: what these people were exposed to cannot be added up"

_ID_TYPES: dict[pl.DataType, IdType] = {pl.Int64(): "integer", pl.String(): "text"}


def id_type_of(ids: pl.Series) -> IdType:
    """Whether ids are integers or text; any other type is refused."""
    if ids.dtype not in _ID_TYPES:
        raise TableError(
            f"ids of type {ids.dtype} cannot be stored",
            where="id column",
            remedy="give integers of at most 64 bits, or text",
        )
    return _ID_TYPES[ids.dtype]


def check_id_type(ids: pl.Series, releases: tuple[ReleaseRecord, ...]) -> None:
    """Refuse ids that can never match those of the series."""
    given = id_type_of(ids)
    if releases and given != releases[0].id_type:
        raise TableError(
            f"the ids are {given}, those of the series are {releases[0].id_type}",
            where="id column",
            remedy=f"give the ids as {releases[0].id_type}, as in release {releases[0].label}",
        )


def numbered(part: str, number: int) -> str:
    """The name of one of several files of the same kind.

    >>> numbered(MEMBERS, 12)
    'members-00012.parquet'
    """
    return f"{part.removesuffix(_ENDING)}-{number:05d}{_ENDING}"


def files_of(release: ReleaseRecord, part: str) -> list[str]:
    """The names of all files of one kind in a release, in the order of their rows."""
    several = f"{part.removesuffix(_ENDING)}-"
    return sorted(
        file.name
        for file in release.parts
        if file.name == part or (file.name.startswith(several) and file.name.endswith(_ENDING))
    )


def has_part(release: ReleaseRecord, part: str) -> bool:
    """Whether a release has this kind of part."""
    return bool(files_of(release, part))


def open_part(part: bytes | Path, codes: Sequence[str] = ()) -> ParquetFile:
    """Open one file of the ledger, or its content; the columns in ``codes`` are read as codes of
    their values."""
    import pyarrow as pa  # slow to import, and only reading the ledger needs it
    import pyarrow.parquet as pq

    source = pa.BufferReader(part) if isinstance(part, bytes) else part
    return pq.ParquetFile(source, read_dictionary=list(codes))


def read_part(layout: Layout, release: ReleaseRecord, part: str) -> pl.DataFrame:
    """One kind of part as a table, with values normalised as tables are; see ``read_files``."""
    rows = pl.concat(
        [pl.DataFrame(open_part(each).read()) for each in read_files(layout, release, part)]
    )
    if part not in (VALUES, HOLDERS):
        return rows
    names = rows["value"].unique().cast(pl.String)
    forms = forms_of(names)
    if forms.equals(names):
        return rows
    return rows.with_columns(pl.col("value").cast(pl.String).replace(names, forms))


def forms_of(names: pl.Series) -> pl.Series:
    """The distinct values of a release, normalised as tables are; an older ledger may have them in
    another form."""
    forms = composed(names)
    if forms.n_unique() < len(names):
        raise LedgerDamaged(VALUE_TWICE, where="ledger", remedy=NOT_ADDED_UP)
    return forms


@dataclass(frozen=True)
class CodedValues:
    """What the groups of a release held, one entry per value and group."""

    group: NDArray[np.uint32]
    count: NDArray[np.uint32]
    code: NDArray[np.int32]  # the value, by its place in ``names``
    names: list[str]


def read_values(files: Sequence[bytes]) -> Iterator[CodedValues]:
    """The values of a release, piece by piece, as the codes in the files: no text is made."""
    known = pl.Series(dtype=pl.String)
    for group, value, count in _read_columns(files, ["group", "value", "count"]):
        code, names = value.indices, pl.Series(value.dictionary, dtype=pl.String)
        known = pl.concat([known, names]).unique()
        forms_of(known)
        yield CodedValues(
            _array_of(group), _array_of(count), _array_of(code), composed(names).to_list()
        )


def read_holders(
    files: Sequence[bytes],
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int32], list[str]]]:
    """Who was published as a holder, piece by piece: the number of each person, the place of the
    value in the list of names, and this list."""
    for person, value in _read_columns(files, ["person", "value"]):
        names = composed(pl.Series(value.dictionary, dtype=pl.String))
        yield _array_of(person), _array_of(value.indices), names.to_list()


def read_members(
    files: Sequence[bytes],
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """The number and the group of each member of a release, piece by piece."""
    for person, group in _read_columns(files, ["person", "group"]):
        yield _array_of(person), _array_of(group)


def read_numbers(files: Sequence[bytes], column: str) -> NDArray[np.uint32]:
    """One numeric column."""
    pieces = [_array_of(numbers) for (numbers,) in _read_columns(files, [column])]
    return np.concatenate([np.empty(0, dtype=np.uint32), *pieces])


def read_excluded(files: Sequence[bytes], groups: int) -> NDArray[np.int64]:
    """The people of each group who cannot hold a transient value, from the files of its release's
    groups; nobody where there is no such column."""
    if EXCLUDED not in open_part(files[0]).schema_arrow.names:
        return np.zeros(groups, dtype=np.int64)
    return read_numbers(files, EXCLUDED).astype(np.int64)


def _read_columns(files: Sequence[bytes], columns: list[str]) -> Iterator[list[Any]]:
    """Some columns of a part as Arrow has them, a row group at a time: the system takes longer to
    provide memory for all rows than to read them."""
    for content in files:
        file = open_part(content, codes=[name for name in columns if name == "value"])
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns, use_threads=False)
            for batch in table.to_batches():
                yield [batch.column(name) for name in columns]


def read_ids(path: Path, begin: int, end: int) -> pl.Series:
    """The ids between two places of a file of people; reads no more than necessary."""
    with open_part(path) as file:
        rows = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        ends = np.cumsum(rows)
        first, last = np.searchsorted(ends, [begin, end - 1], "right").tolist()
        read = file.read_row_groups(list(range(first, last + 1)), ["id"])
    return pl.Series(read["id"]).slice(begin - int(ends[first] - rows[first]), end - begin)


def _array_of(column: Any) -> NDArray[Any]:
    return pl.Series(column).to_numpy()


def read_files(layout: Layout, release: ReleaseRecord, part: str) -> list[bytes]:
    """The files of one kind of part; ``LedgerDamaged`` if they are not, byte for byte, what was
    committed."""
    folder = layout.parts(release.number)
    digests = {file.name: file.sha256 for file in release.parts}
    # If the catalog does not name a part, it was taken out.
    names = files_of(release, part) or [part]
    return [_content(layout, folder / name, digests.get(name)) for name in names]


def check_unread(layout: Layout, releases: tuple[ReleaseRecord, ...], *read: str) -> None:
    """Compare the parts of releases with their digests, except the kinds that were ``read``."""

    def unread(release: ReleaseRecord) -> tuple[FileDigest, ...]:
        names = {name for part in read for name in files_of(release, part)}
        return tuple(file for file in release.parts if file.name not in names)

    folders = [(layout.parts(release.number), unread(release)) for release in releases]
    compare_here([(folder, files, layout.name_of(folder)) for folder, files in folders])


def _content(layout: Layout, path: Path, sha256: str | None) -> bytes:
    where = layout.name_of(path)
    with storage_errors(path):
        if not path.is_file():
            raise LedgerDamaged("a part of the ledger is missing", where=where, remedy=RESTORE)
        content = path.read_bytes()
    if digest_of(content) != sha256:
        raise LedgerDamaged("a part of the ledger was changed", where=where, remedy=RESTORE)
    return content


def read_people(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> pl.DataFrame:
    """Everybody who was ever a member: ``person``, the number given once, and ``id``."""
    if not releases:
        return pl.DataFrame(schema={"person": pl.UInt32, "id": pl.String})
    ids = pl.concat(read_newcomers(layout, releases)).alias("id").to_frame()
    return ids.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("person"), "id")


def read_newcomers(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> Iterator[pl.Series]:
    """The ids of the people who were new in each release, in the order of their numbers.

    Text is normalised as tables are; an older ledger may have it in another form.
    """
    import pyarrow as pa  # slow to import, and only reading the ledger needs it

    for release in releases:
        files = read_files(layout, release, PEOPLE)
        read = [open_part(each).read(use_threads=False) for each in files]
        ids = pl.Series(pa.concat_tables(read)["id"])
        yield composed(ids) if ids.dtype == pl.String else ids
