"""What a release adds to the ledger: a proof as the bytes of its parts.

Encodings are chosen for size, as far as reading time allows: ascending numbers as differences,
everything compressed, no statistics (parts are always read whole).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState
from serigraph.ledger.parts import (
    COHORTS,
    EXCLUDED,
    GROUPS,
    HOLDERS,
    MEMBERS,
    PEOPLE,
    RETIRED,
    VALUES,
    id_type_of,
)
from serigraph.ledger.person_numbers import numbers_of
from serigraph.ledger.release import IdType
from serigraph.ledger.storage import FileDigest, digest_of
from serigraph.model import CohortChanges, Proof, are_in_order, ascend, occurrences, order_by
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_ID_ENCODINGS: dict[IdType, str] = {"integer": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY"}


@dataclass(frozen=True, repr=False)
class EncodedParts(Undisclosed):
    """The parts of a verified release, as the ledger will store them."""

    contents: Mapping[str, bytes]  # by file name
    digests: tuple[FileDigest, ...]
    ids: pl.Series  # empty: only its type matters
    newcomers: int  # people new to the ledger
    members: int
    groups: int


def encode_parts(
    proof: Proof, number: NDArray[np.int64], people: int, retired: NDArray[np.int64]
) -> EncodedParts:
    """The parts of a release whose people have these numbers in the ledger, -1 if they are new.

    New people get the numbers after those of the ``people`` already known, in the order of their
    ids. ``retired`` are the numbers of those who retire, in the order of the proof.
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
        GROUPS: lambda: encode_groups(
            np.arange(len(proof.size)), proof.size, proof.present_size, proof.excluded
        ),
        VALUES: lambda: encode_values(proof.value_group, proof.value_name, proof.value_count),
        HOLDERS: lambda: encode_holders(number[proof.holder], proof.held, proof.protected_names),
    }
    if (changes := proof.cohorts) is not None:
        encoders |= {
            COHORTS: lambda: encode_cohorts(
                number[_places(changes.joined, proof.ids)], changes.cohort
            ),
            RETIRED: lambda: encode_retired(_numbered(retired, changes, proof.ids, number)),
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
    """People new to the ledger, in the order of their numbers."""
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
    group: NDArray[np.int64],
    size: NDArray[np.int64],
    present: NDArray[np.int64],
    excluded: NDArray[np.int64] | None = None,
) -> bytes:
    """Groups by number, ascending, with their sizes, their numbers of present members, and where
    values exclude each other of members who cannot hold a transient value."""
    columns = {"group": group, "size": size, "present": present}
    if excluded is not None:
        columns[EXCLUDED] = excluded
    return _encode(
        {name: pl.Series(each, dtype=pl.UInt32) for name, each in columns.items()},
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


def encode_holders(
    person: NDArray[np.integer], held: NDArray[np.int32], names: Sequence[str]
) -> bytes:
    """Everybody published as a holder, by number and then by value; ``held`` are places in
    ``names``."""
    texts = pl.Series(names, dtype=pl.String)
    values = texts.sort().cast(pl.Enum(texts.sort()))
    rank = texts.cast(values.dtype).to_physical().to_numpy().astype(np.uint64)
    pair = person.astype(np.uint64) << _HALF | rank[held]
    if not ascend(pair):
        pair.sort()
        if not ascend(pair):
            raise ImpossibleState("a proof names a holder twice")
    columns = {
        "person": pl.Series((pair >> _HALF).astype(np.uint32)),
        "value": values.gather(pair & _LOW),
    }
    return _encode(columns, {"person": "DELTA_BINARY_PACKED"})


def encode_cohorts(person: NDArray[np.integer], cohort: NDArray[np.int64]) -> bytes:
    """The cohorts of the people who join one, by number."""
    if not ascend(person):
        order = order_by(person)
        person, cohort = person[order], cohort[order]
    columns = {
        "person": pl.Series(person, dtype=pl.UInt32),
        "cohort": pl.Series(cohort, dtype=pl.UInt32),
    }
    return _encode(columns, dict.fromkeys(columns, "DELTA_BINARY_PACKED"))


def encode_retired(person: NDArray[np.int64]) -> bytes:
    """The people who retire, by number."""
    columns = {"person": pl.Series(np.sort(person), dtype=pl.UInt32)}
    return _encode(columns, dict.fromkeys(columns, "DELTA_BINARY_PACKED"))


def _encode(
    columns: Mapping[str, pl.Series], encodings: Mapping[str, str], compression: str = "snappy"
) -> bytes:
    """Numbers take a little more space with snappy than with zstd, and half the time to read."""
    import pyarrow as pa  # slow to import, and only publishing needs it
    import pyarrow.parquet as pq

    table = pl.DataFrame(dict(columns)).to_arrow(compat_level=pl.CompatLevel.oldest())
    # Nothing is null in a ledger; non-nullable columns spare every reader the check.
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
    """Refuse a proof whose groups do not add up: it would charge people wrongly for good."""
    ids, groups = proof.ids, len(proof.size)
    is_sound = (
        len(ids) == len(proof.group) == len(proof.present)
        and groups == len(proof.present_size) == len(proof.candidates)
        and len(proof.value_group) == len(proof.value_name) == len(proof.value_count)
        and are_in_order(ids)
        and int(proof.group.max(initial=0)) < max(groups, 1)
        and np.array_equal(occurrences(proof.group, groups), proof.size)
        and np.array_equal(occurrences(proof.group, groups, proof.present), proof.present_size)
        and bool(np.all((proof.candidates >= 0) & (proof.candidates <= proof.size)))
        and bool(np.all(proof.value_group < groups))
        and bool(np.all(proof.value_count >= 1))
        and bool(np.all(proof.value_count <= proof.present_size[proof.value_group]))
        and _are_counts_of_holders(proof)
        and (proof.cohorts is None or _are_changes_of(proof.cohorts, proof.ids))
    )
    if not is_sound:
        raise ImpossibleState("the arrays of a proof do not fit each other")


def _are_counts_of_holders(proof: Proof) -> bool:
    """Whether the holders are present members, and as many in each group as its counts say."""
    holder, held, names = proof.holder, proof.held, proof.protected_names
    is_in_range = (
        len(holder) == len(held)
        and _are_below(holder, len(proof.ids))
        and _are_below(held, len(names))
        and bool(proof.present[holder].all())
    )
    code = proof.value_name.cast(pl.Enum(names), strict=False)
    if not is_in_range or code.null_count():
        return False
    counted = proof.value_group.astype(np.int64) * len(names) + code.to_physical().to_numpy()
    order = np.argsort(counted)
    entry, count = np.unique(
        proof.group[holder].astype(np.int64) * len(names) + held, return_counts=True
    )
    return np.array_equal(entry, counted[order]) and np.array_equal(count, proof.value_count[order])


def _are_changes_of(changes: CohortChanges, ids: pl.Series) -> bool:
    """Whether members join, and people retire who are no members or join now; everybody once."""
    joined, retired = changes.joined, changes.retired
    return (
        joined.dtype == retired.dtype == ids.dtype
        and are_in_order(joined)
        and are_in_order(retired)
        and len(joined) == len(changes.cohort)
        and _are_below(changes.cohort, 2**32)
        and bool(np.all(_places(joined, ids) >= 0))
        and bool(np.all((_places(retired, ids) < 0) | (_places(retired, joined) >= 0)))
    )


def _numbered(
    retired: NDArray[np.int64], changes: CohortChanges, ids: pl.Series, number: NDArray[np.integer]
) -> NDArray[np.int64]:
    """The numbers of the people who retire; those who are new have them from their release."""
    is_new = retired < 0
    if not is_new.any():
        return retired
    place = _places(changes.retired.filter(pl.Series(is_new)), ids)
    if place.min() < 0:
        raise ImpossibleState("people retire whom the ledger does not know")
    found = retired.copy()
    found[is_new] = number[place]
    return found


def _are_below(numbers: NDArray[np.integer], limit: int) -> bool:
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < limit)


def _places(some: pl.Series, ids: pl.Series) -> NDArray[np.int64]:
    """Where people are among the members of a release, -1 if they are not."""
    return np.arange(len(ids)) if some.equals(ids) else numbers_of(some, [ids])
