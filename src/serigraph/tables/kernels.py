"""Compiled parts of the digest of a table: one number for each text, and for each record.

All numbers are unsigned, and products and sums wrap around, as SplitMix64 has it. Where one of them
is not unsigned, Numba would go on in floating point: hence the casts.

Parameters that recur: ``mixed`` has the number of each record, ``kind`` is a number for the kind of
thing that is mixed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.compiled import kernel, kernel_helper


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
