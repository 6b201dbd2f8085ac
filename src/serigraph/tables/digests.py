"""A digest of what a table says, whatever its file format and the order of rows and columns.

Every person's record becomes one 64-bit number, and the digest is made of the sum of these. So
parts of a table can be summed up where they lie, and in any order. Two tables that differ have the
same sum with a probability of 2^-64; nobody is kept from making such tables on purpose.

Kernels: all numbers are unsigned, and products and sums wrap around, as SplitMix64 has it. Where
one of them is not unsigned, Numba would go on in floating point: hence the casts. Parameters that
recur: ``mixed`` has the number of each record, ``kind`` is a number for the kind of thing that is
mixed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.model import CodedValues
from serigraph.runtime.compiled import kernel, kernel_helper
from serigraph.runtime.threads import parallel_map, slices

_FORM = "serigraph table 3"  # a change of what is summed below needs another number
_EXACT_INTEGERS = (1 - 2**53, 2**53 - 1)  # beyond them not every integer is a float

_MIXED_TOGETHER = 1 << 16  # records that stay in a processor's cache

_NOTHING, _TEXT, _DATE, _INTEGER, _NUMBER, _PERSON = (
    np.uint64(each) for each in (0x9E37, 0x85EB, 0xC2B2, 0x27D4, 0x1656, 0xB529)
)


def digest_of(names: Iterable[str], people: int, total: int) -> str:
    """The digest of a table with these quasi-identifiers, this number of people, and the sum of
    their records."""
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
        records = mix_all(cell_hashes(ids[part]), _PERSON)  # an id may equal another cell
        for of_code, codes in columns:
            mix_column(records, of_code, codes[part])
        held = slice(*np.searchsorted(values.person, (part.start, part.stop)))
        lengths = np.bincount(values.person[held] - part.start, minlength=len(records))
        mix_sets(records, of_value, values.code[held], lengths)
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
        hashed = mix_all(_bits(cells.to_physical().fill_null(0).cast(pl.Int64)), _DATE)
    else:
        filled = cells.fill_null(0)
        hashed = mix_all(_bits(filled.cast(pl.Float64)), _NUMBER)
        if cells.dtype == pl.Int64 and (beyond := ~filled.is_between(*_EXACT_INTEGERS)).any():
            hashed[beyond.to_numpy()] = mix_all(_bits(filled.filter(beyond)), _INTEGER)
    hashed[cells.is_null().to_numpy()] = _NOTHING
    return hashed


def _text_hashes(text: pl.Series) -> NDArray[np.uint64]:
    array = text.to_arrow().cast("large_string")
    _, offsets, content = array.buffers()
    begins = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(b"" if content is None else content, dtype=np.uint8)
    hashed: NDArray[np.uint64] = mix_texts(letters, begins, _TEXT)
    return hashed


def _bits(numbers: pl.Series) -> NDArray[np.uint64]:
    return np.ascontiguousarray(numbers.to_numpy()).view(np.uint64)


@kernel_helper
def mix(bits: np.uint64) -> np.uint64:
    """Every bit depends on all ``bits``: the finaliser of SplitMix64."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def mix_all(bits: NDArray[np.uint64], kind: np.uint64) -> NDArray[np.uint64]:
    """Mix every number of ``bits`` by itself, together with the kind of thing it stands for."""
    mixed = np.empty(len(bits), dtype=np.uint64)
    for i in range(len(bits)):
        mixed[i] = mix(bits[i] ^ kind)
    return mixed


@kernel
def mix_texts(
    content: NDArray[np.uint8], begins: NDArray[np.int64], kind: np.uint64
) -> NDArray[np.uint64]:
    """One number for each text, eight bytes of the ``content`` at a time; ``begins[i]`` is where
    text i begins."""
    mixed = np.empty(len(begins) - 1, dtype=np.uint64)
    for i in range(len(mixed)):
        hashed = mix(np.uint64(begins[i + 1] - begins[i]) ^ kind)
        word = np.uint64(0)
        filled = 0
        for at in range(begins[i], begins[i + 1]):
            word = (word << np.uint64(8)) | np.uint64(content[at])
            filled += 1
            if filled == 8:
                hashed = mix(hashed ^ word)
                word = np.uint64(0)
                filled = 0
        if filled > 0:
            hashed = mix(hashed ^ word)
        mixed[i] = hashed
    return mixed


@kernel
def mix_column(
    mixed: NDArray[np.uint64], of_code: NDArray[np.uint64], codes: NDArray[np.int32]
) -> None:
    """Mix everybody's code of a quasi-identifier, of ``codes``, into the number of its record, by a
    number for each code, ``of_code``."""
    for i in range(len(mixed)):
        mixed[i] = mix(mixed[i] ^ of_code[np.uint32(codes[i])])


@kernel
def mix_sets(
    mixed: NDArray[np.uint64],
    of_value: NDArray[np.uint64],
    values: NDArray[np.integer],
    lengths: NDArray[np.integer],
) -> None:
    """Mix everybody's set of values, in whichever order, into the number of its record, by a number
    for each value, ``of_value``. The ``values`` lie behind each other, as many for each record as
    ``lengths`` says."""
    at = 0
    for i in range(len(mixed)):
        total = np.uint64(lengths[i])
        for _ in range(lengths[i]):
            total += mix(of_value[np.uint32(values[at])])
            at += 1
        mixed[i] = mix(mixed[i] ^ mix(total))
