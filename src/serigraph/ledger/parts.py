"""The four Parquet files of a release: who was in which group, and what each group held.

They are written once and never changed. Encodings are chosen for size: ascending numbers as
differences, everything compressed, no statistics (nobody reads a part in pieces).
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState, LedgerDamaged, TableError
from serigraph.ledger.layout import Layout
from serigraph.ledger.release import IdType, ReleaseRecord
from serigraph.ledger.storage import RESTORE, digest_of, storage_errors
from serigraph.population import Proof, order_by

PEOPLE, MEMBERS, GROUPS, VALUES = (
    f"{name}.parquet" for name in ("people", "members", "groups", "values")
)

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


def encode_parts(proof: Proof, people: pl.DataFrame) -> tuple[dict[str, bytes], int]:
    """The content of the parts of a release, and how many people are new to the ledger.

    ``people`` are those of all releases before, as ``read_people`` gives them. New people get the
    numbers that follow, in the order of their ids.
    """
    _check_shape(proof)
    id_type = id_type_of(proof.ids)
    number = numbers_of(proof.ids, people)
    is_new = number < 0
    newcomers = int(is_new.sum())
    number[is_new] = np.arange(people.height, people.height + newcomers)
    by_number = order_by(number)
    values = pl.DataFrame(
        {"group": proof.value_group, "value": proof.value_name, "count": proof.value_count},
        schema_overrides={"group": pl.UInt32, "count": pl.UInt32},
    ).sort("group", "value")
    parts = {
        PEOPLE: _encode(
            {"id": proof.ids.filter(pl.Series(is_new))}, {"id": _ID_ENCODINGS[id_type]}
        ),
        MEMBERS: _encode(
            {
                "person": pl.Series(number[by_number], dtype=pl.UInt32),
                "group": pl.Series(proof.group[by_number], dtype=pl.UInt32),
                "present": pl.Series(proof.present[by_number], dtype=pl.Boolean),
            },
            {"person": "DELTA_BINARY_PACKED", "group": "DELTA_BINARY_PACKED"},
        ),
        GROUPS: _encode(
            {
                "group": pl.Series(np.arange(len(proof.size)), dtype=pl.UInt32),
                "size": pl.Series(proof.size, dtype=pl.UInt32),
                "present": pl.Series(proof.present_size, dtype=pl.UInt32),
            },
            {"group": "DELTA_BINARY_PACKED"},
        ),
        VALUES: _encode(values.to_dict(), {"group": "DELTA_BINARY_PACKED"}),
    }
    return parts, newcomers


def read_part(layout: Layout, release: ReleaseRecord, part: str) -> pl.DataFrame:
    """One part, or ``LedgerDamaged`` if it is not, byte for byte, what was committed."""
    path = layout.parts(release.number) / part
    where = layout.name_of(path)
    with storage_errors(path):
        if not path.is_file():
            raise LedgerDamaged("a part of the ledger is missing", where=where, remedy=RESTORE)
        content = path.read_bytes()
    if digest_of(content) not in (known.sha256 for known in release.parts if known.name == part):
        raise LedgerDamaged("a part of the ledger was changed", where=where, remedy=RESTORE)
    return pl.read_parquet(io.BytesIO(content))


def read_people(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> pl.DataFrame:
    """Everybody that was ever a member: ``person``, the number given once, and ``id``."""
    if not releases:
        return pl.DataFrame(schema={"person": pl.UInt32, "id": pl.String})
    ids = pl.concat([read_part(layout, release, PEOPLE) for release in releases])
    return ids.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("person"), "id")


def numbers_of(ids: pl.Series, people: pl.DataFrame) -> NDArray[np.int64]:
    """The ledger's number of each id, -1 for people that it does not know."""
    if people.is_empty():
        return np.full(len(ids), -1, dtype=np.int64)
    asked = ids.alias("id").to_frame()
    found = asked.join(people, on="id", how="left", maintain_order="left")["person"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy(writable=True)


def _encode(columns: Mapping[str, pl.Series], encodings: Mapping[str, str]) -> bytes:
    import pyarrow.parquet as pq  # only whoever publishes waits for it

    table = pl.DataFrame(dict(columns)).to_arrow(compat_level=pl.CompatLevel.oldest())
    buffer = io.BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        use_dictionary=[name for name in columns if name not in encodings],
        column_encoding=dict(encodings),
        write_statistics=False,
        store_schema=False,
    )
    return buffer.getvalue()


def _check_shape(proof: Proof) -> None:
    """A ledger whose groups do not add up would charge people wrongly for ever after."""
    ids, groups = proof.ids, len(proof.size)
    is_sound = (
        len(ids) == len(proof.group) == len(proof.present)
        and groups == len(proof.present_size)
        and len(proof.value_group) == len(proof.value_name) == len(proof.value_count)
        and ids.null_count() == 0
        and bool((ids.slice(1) > ids.head(max(len(ids) - 1, 0))).all())
        and np.array_equal(np.bincount(proof.group, minlength=groups), proof.size)
        and np.array_equal(
            np.bincount(proof.group[proof.present], minlength=groups), proof.present_size
        )
        and bool(np.all(proof.value_group < groups))
        and bool(np.all(proof.value_count >= 1))
        and bool(np.all(proof.value_count <= proof.present_size[proof.value_group]))
    )
    if not is_sound:
        raise ImpossibleState("the arrays of a proof do not fit each other")
