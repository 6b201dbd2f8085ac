"""A digest of what a table says, whatever its file format and the order of rows and columns.

Every person's record becomes one 64-bit number, and the digest is made of the sum of these. So
parts of a table can be summed up where they lie, and in any order. Two tables that differ have the
same sum with a probability of 2^-64; nobody is kept from making such tables on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import CodedValues
from serigraph.runtime.threads import parallel_map, slices
from serigraph.tables import kernels

_FORM = "serigraph table 2"  # a change of what is summed below needs another number
_EXACT_INTEGERS = (1 - 2**53, 2**53 - 1)  # beyond them not every integer is a float

_MIXED_TOGETHER = 1 << 16  # records that stay in a processor's cache

_NOTHING, _TEXT, _DATE, _INTEGER, _NUMBER = (
    np.uint64(each) for each in (0x9E37, 0x85EB, 0xC2B2, 0x27D4, 0x1656)
)


def digest_of(names: Iterable[str], people: int, total: int) -> str:
    """The digest of a table with these quasi-identifiers, so many people, and the sum of their
    records."""
    lines = [_FORM, *(f"{len(name)} {name}" for name in sorted(names)), str(people), str(total)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def sum_of(records: NDArray[np.uint64]) -> int:
    """The sum of records, modulo 2^64: sums of parts of a table can be added up."""
    return int(records.sum(dtype=np.uint64))


def record_hashes(
    ids: pl.Series,
    quasi_identifiers: Mapping[str, tuple[NDArray[np.uint64], NDArray[np.int32]]],
    values: CodedValues,
) -> NDArray[np.uint64]:
    """One number for each person: its id, its quasi-identifiers and its set of values.

    A quasi-identifier is given as the hashes of its domain and everybody's codes.
    """
    columns = [quasi_identifiers[name] for name in sorted(quasi_identifiers)]
    of_value = cell_hashes(values.names)

    def mixed(part: slice) -> NDArray[np.uint64]:
        records = cell_hashes(ids[part])
        for of_code, codes in columns:
            kernels.mix_column(records, of_code, codes[part])
        held = slice(*np.searchsorted(values.person, (part.start, part.stop)))
        lengths = np.bincount(values.person[held] - part.start, minlength=len(records))
        kernels.mix_sets(records, of_value, values.code[held], lengths)
        return records

    return np.concatenate(parallel_map(mixed, slices(len(ids), longest=_MIXED_TOGETHER)))


def cell_hashes(cells: pl.Series) -> NDArray[np.uint64]:
    """One number for each cell.

    Whole numbers count as floats as far as floats are exact, and dates as days, so that a number
    is the same whether it was stored as an integer or not.
    """
    if cells.dtype == pl.String:
        hashed = _text_hashes(cells.fill_null(""))
    elif cells.dtype == pl.Date:
        hashed = kernels.mix_all(_bits(cells.to_physical().fill_null(0).cast(pl.Int64)), _DATE)
    else:
        filled = cells.fill_null(0)
        hashed = kernels.mix_all(_bits(filled.cast(pl.Float64)), _NUMBER)
        if cells.dtype == pl.Int64 and (beyond := ~filled.is_between(*_EXACT_INTEGERS)).any():
            hashed[beyond.to_numpy()] = kernels.mix_all(_bits(filled.filter(beyond)), _INTEGER)
    hashed[cells.is_null().to_numpy()] = _NOTHING
    return hashed


def _text_hashes(text: pl.Series) -> NDArray[np.uint64]:
    array = text.to_arrow().cast("large_string")
    _, offsets, content = array.buffers()
    begins = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(b"" if content is None else content, dtype=np.uint8)
    hashed: NDArray[np.uint64] = kernels.mix_texts(letters, begins, _TEXT)
    return hashed


def _bits(numbers: pl.Series) -> NDArray[np.uint64]:
    return np.ascontiguousarray(numbers.to_numpy()).view(np.uint64)
