"""Where random numbers come from: an argument, never a hidden global."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.ordering import order_by_keys
from serigraph.runtime.threads import TOGETHER, parallel_map, slices


class Randomness(Protocol):
    """A source of random 64-bit keys."""

    def keys(self, number: int) -> NDArray[np.uint64]: ...


class SystemRandomness:
    """OpenSSL's cryptographic generator, seeded by the operating system: for everything that is
    published. The system's own generator takes ten times as long."""

    def keys(self, number: int) -> NDArray[np.uint64]:
        import ssl  # slow to import, and only publishing needs it

        keys = np.empty(number, dtype=np.uint64)

        def draw(part: slice) -> None:
            mine = keys[part]
            mine[:] = np.frombuffer(ssl.RAND_bytes(mine.nbytes), dtype=np.uint64)

        parallel_map(draw, slices(number, longest=TOGETHER))
        return keys


class SeededRandomness:
    """Repeatable keys, for studies and tests; anybody who knows the seed knows the choices."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def keys(self, number: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 2**64, number, dtype=np.uint64)


def shuffled(number: int, randomness: Randomness) -> NDArray[np.int64]:
    """The numbers 0..number-1 in random order."""
    return order_by_keys(randomness.keys(number))
