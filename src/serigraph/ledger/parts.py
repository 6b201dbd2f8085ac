"""The Parquet files of a release: who was in which group, and what each group held.

There are four kinds. A release that was made on one machine has one file of each; one that was made
on many has several, numbered (``members-00000.parquet``), whose rows follow each other as one
file's would. They are written once and never changed. Encodings are chosen for size, as far as the
time to read them allows: ascending numbers as differences, everything compressed, no statistics
(nobody reads a part in pieces).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState, LedgerDamaged, TableError
from serigraph.ledger.layout import Layout
from serigraph.ledger.release import IdType, ReleaseRecord
from serigraph.ledger.storage import (
    RESTORE,
    FileDigest,
    compare_here,
    digest_of,
    storage_errors,
)
from serigraph.model import Proof, are_in_order, ascend, occurrences, order_by
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed
from serigraph.texts import composed

_ENDING = ".parquet"
PEOPLE, MEMBERS, GROUPS, VALUES = (
    f"{name}{_ENDING}" for name in ("people", "members", "groups", "values")
)
VALUE_TWICE = "a release holds one value twice, in two Unicode forms"
NOT_ADDED_UP = "begin a new series: what these people were exposed to cannot be added up"

_ID_TYPES: dict[pl.DataType, IdType] = {pl.Int64(): "integer", pl.String(): "text"}
_ID_ENCODINGS: dict[IdType, str] = {"integer": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY"}


def id_type_of(ids: pl.Series) -> IdType:
    """Whether ids are integers or text; any other type is refused."""
    if ids.dtype not in _ID_TYPES:
        raise TableError(
            f"ids of type {ids.dtype} cannot be kept",
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


@dataclass(frozen=True, repr=False)
class EncodedParts(Undisclosed):
    """The parts of a release that was proved, as they will be in the ledger."""

    contents: Mapping[str, bytes]  # by the name of the file
    digests: tuple[FileDigest, ...]
    ids: pl.Series  # empty: only its type counts
    newcomers: int  # people that are new to the ledger
    members: int
    groups: int


def encode_parts(proof: Proof, number: NDArray[np.int64], people: int) -> EncodedParts:
    """The parts of a release whose people have these numbers in the ledger, -1 if they are new.

    New people get the numbers that follow those of the ``people`` that are known, in the order of
    their ids.
    """
    is_new = number < 0
    newcomers = int(np.count_nonzero(is_new))
    new_ids = proof.ids
    if newcomers < len(number):
        new_ids = new_ids.filter(pl.Series(is_new))
        number = number.copy()
        number[is_new] = np.arange(people, people + newcomers)
    else:
        number = np.arange(people, people + newcomers, dtype=np.uint32)

    def members() -> bytes:
        if ascend(number):
            return encode_members(number, proof.group, proof.present)
        order = order_by(number)
        return encode_members(number[order], proof.group[order], proof.present[order])

    encoders: dict[str, Callable[[], bytes]] = {
        PEOPLE: lambda: encode_people(new_ids),
        MEMBERS: members,
        GROUPS: lambda: encode_groups(np.arange(len(proof.size)), proof.size, proof.present_size),
        VALUES: lambda: encode_values(proof.value_group, proof.value_name, proof.value_count),
    }
    works: list[Callable[[], Any]] = [partial(check_shape, proof), *encoders.values()]
    _, *encoded = parallel_map(lambda work: work(), works)
    contents = dict(zip(encoders, encoded, strict=True))
    return EncodedParts(
        contents=contents,
        digests=tuple(FileDigest(name, digest_of(each)) for name, each in contents.items()),
        ids=proof.ids.clear(),
        newcomers=newcomers,
        members=len(proof.ids),
        groups=len(proof.size),
    )


def encode_people(ids: pl.Series) -> bytes:
    """People that are new to the ledger, in the order of their numbers."""
    return _encode({"id": ids}, {"id": _ID_ENCODINGS[id_type_of(ids)]}, compression="zstd")


def encode_members(
    person: NDArray[np.int64], group: NDArray[Any], present: NDArray[np.bool_]
) -> bytes:
    """Members by number, ascending."""
    return _encode(
        {
            "person": pl.Series(person, dtype=pl.UInt32),
            "group": pl.Series(group, dtype=pl.UInt32),
            "present": pl.Series(present, dtype=pl.Boolean),
        },
        {"person": "DELTA_BINARY_PACKED", "group": "DELTA_BINARY_PACKED"},
    )


def encode_groups(
    group: NDArray[np.int64], size: NDArray[np.int64], present: NDArray[np.int64]
) -> bytes:
    """Groups by number, ascending, with their people and those of them that have a record."""
    return _encode(
        {
            "group": pl.Series(group, dtype=pl.UInt32),
            "size": pl.Series(size, dtype=pl.UInt32),
            "present": pl.Series(present, dtype=pl.UInt32),
        },
        {"group": "DELTA_BINARY_PACKED"},
    )


def encode_values(group: NDArray[Any], value: pl.Series, count: NDArray[np.int64]) -> bytes:
    """What groups hold, in any order; values are text, or an Enum with its names in order."""
    kind = value.dtype if isinstance(value.dtype, pl.Enum) else pl.Enum(value.unique().sort())
    values = pl.DataFrame(
        {"group": group, "value": value.cast(kind), "count": count},
        schema_overrides={"group": pl.UInt32, "count": pl.UInt32},
    )
    code = values["value"].to_physical().to_numpy().astype(np.uint64)
    place = values["group"].to_numpy().astype(np.uint64) << np.uint64(32) | code
    if not (place[1:] > place[:-1]).all():
        values = values.sort("group", "value")
    return _encode(values.to_dict(), {"group": "DELTA_BINARY_PACKED"})


def numbered(part: str, number: int) -> str:
    """The name of one of several files of a kind.

    >>> numbered(MEMBERS, 12)
    'members-00012.parquet'
    """
    return f"{part.removesuffix(_ENDING)}-{number:05d}{_ENDING}"


def files_of(release: ReleaseRecord, part: str) -> list[str]:
    """The names of all files of a kind that a release has, in the order of their rows."""
    several = f"{part.removesuffix(_ENDING)}-"
    return sorted(
        file.name
        for file in release.parts
        if file.name == part or (file.name.startswith(several) and file.name.endswith(_ENDING))
    )


def read_part(layout: Layout, release: ReleaseRecord, part: str) -> pl.DataFrame:
    """One kind of part as a table, values in the form that tables are read in; see
    ``read_files``."""
    rows = pl.concat(
        [pl.read_parquet(io.BytesIO(each)) for each in read_files(layout, release, part)]
    )
    if part != VALUES:
        return rows
    names = rows["value"].unique().cast(pl.String)
    forms = forms_of(names)
    if forms.equals(names):
        return rows
    return rows.with_columns(pl.col("value").cast(pl.String).replace(names, forms))


def forms_of(names: pl.Series) -> pl.Series:
    """The different values of a release in the form that tables are read in, also where an older
    ledger has them in another one."""
    forms = composed(names)
    if forms.n_unique() < len(names):
        raise LedgerDamaged(VALUE_TWICE, where="ledger", remedy=NOT_ADDED_UP)
    return forms


@dataclass(frozen=True)
class CodedValues:
    """What groups of a release held, one entry for each value in each group."""

    group: NDArray[np.uint32]
    count: NDArray[np.uint32]
    code: NDArray[np.int32]  # the value, by its place among the names
    names: list[str]


def count_rows(files: Sequence[bytes]) -> int:
    """How many rows the files of a part have, all together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(pa.BufferReader(each)).num_rows for each in files)


def read_values(files: Sequence[bytes]) -> Iterator[CodedValues]:
    """The values of a release, piece by piece, as the codes that the files have them in: texts are
    never made."""
    known = pl.Series(dtype=pl.String)
    for group, value, count in _read_columns(files, ["group", "value", "count"]):
        code, names = value.indices, pl.Series(value.dictionary, dtype=pl.String)
        known = pl.concat([known, names]).unique()
        forms_of(known)
        yield CodedValues(
            _array_of(group), _array_of(count), _array_of(code), composed(names).to_list()
        )


def read_members(
    files: Sequence[bytes],
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """The number of each member of a release and its group, piece by piece."""
    for person, group in _read_columns(files, ["person", "group"]):
        yield _array_of(person), _array_of(group)


def read_numbers(files: Sequence[bytes], column: str) -> NDArray[Any]:
    """One column of numbers."""
    return np.concatenate([_array_of(numbers) for (numbers,) in _read_columns(files, [column])])


def _read_columns(files: Sequence[bytes], columns: list[str]) -> Iterator[list[Any]]:
    """Some columns of a part as Arrow has them, a row group at a time: whatever holds all rows
    takes the system longer to provide than it takes to read them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes = [name for name in columns if name == "value"]
    for content in files:
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=codes)
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns, use_threads=False)
            for batch in table.to_batches():
                yield [batch.column(name) for name in columns]


def _array_of(column: Any) -> NDArray[Any]:
    return pl.Series(column).to_numpy()


def read_files(layout: Layout, release: ReleaseRecord, part: str) -> list[bytes]:
    """The files of one kind of part, or ``LedgerDamaged`` if they are not, byte for byte, what was
    committed."""
    folder = layout.parts(release.number)
    digests = {file.name: file.sha256 for file in release.parts}
    # A part that the catalog does not name was taken out of it.
    names = files_of(release, part) or [part]
    return [_content(layout, folder / name, digests.get(name)) for name in names]


def check_unread(layout: Layout, releases: tuple[ReleaseRecord, ...], read: str) -> None:
    """Compare the parts of releases with their digests, but for the kind that was ``read``."""
    compare_here(
        [
            (
                folder := layout.parts(release.number),
                tuple(file for file in release.parts if file.name not in files_of(release, read)),
                layout.name_of(folder),
            )
            for release in releases
        ]
    )


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
    """Everybody that was ever a member: ``person``, the number given once, and ``id``."""
    if not releases:
        return pl.DataFrame(schema={"person": pl.UInt32, "id": pl.String})
    ids = pl.concat(read_newcomers(layout, releases)).alias("id").to_frame()
    return ids.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("person"), "id")


def read_newcomers(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> Iterator[pl.Series]:
    """The ids of the people that each release was the first for, in the order of their numbers.

    Text is given in the form that tables are read in, also where the ledger has it in another one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for release in releases:
        files = read_files(layout, release, PEOPLE)
        read = [pq.ParquetFile(pa.BufferReader(each)).read(use_threads=False) for each in files]
        ids = pl.Series(pa.concat_tables(read)["id"])
        yield composed(ids) if ids.dtype == pl.String else ids


def _encode(
    columns: Mapping[str, pl.Series], encodings: Mapping[str, str], compression: str = "snappy"
) -> bytes:
    """Of numbers snappy leaves a little more than zstd does, and is read in half the time."""
    import pyarrow as pa  # only whoever publishes waits for it
    import pyarrow.parquet as pq

    table = pl.DataFrame(dict(columns)).to_arrow(compat_level=pl.CompatLevel.oldest())
    # Nothing is missing in a ledger, and need not be looked for whenever it is read.
    complete = pa.schema([field.with_nullable(False) for field in table.schema])
    buffer = io.BytesIO()
    pq.write_table(
        table.cast(complete),
        buffer,
        compression=compression,
        use_dictionary=[name for name in columns if name not in encodings],
        column_encoding=dict(encodings),
        write_statistics=False,
        store_schema=False,
    )
    return buffer.getvalue()


def check_shape(proof: Proof) -> None:
    """A ledger whose groups do not add up would charge people wrongly for ever after."""
    ids, groups = proof.ids, len(proof.size)
    is_sound = (
        len(ids) == len(proof.group) == len(proof.present)
        and groups == len(proof.present_size)
        and len(proof.value_group) == len(proof.value_name) == len(proof.value_count)
        and are_in_order(ids)
        and int(proof.group.max(initial=0)) < max(groups, 1)
        and np.array_equal(occurrences(proof.group, groups), proof.size)
        and np.array_equal(occurrences(proof.group, groups, proof.present), proof.present_size)
        and bool(np.all(proof.value_group < groups))
        and bool(np.all(proof.value_count >= 1))
        and bool(np.all(proof.value_count <= proof.present_size[proof.value_group]))
    )
    if not is_sound:
        raise ImpossibleState("the arrays of a proof do not fit each other")
