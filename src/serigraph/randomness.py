"""Where random numbers come from: an argument, never a hidden global."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from serigraph.population.ordering import order_by_keys
from serigraph.threads import side_by_side, slices

_DRAWN_TOGETHER = 1 << 16


class Randomness(Protocol):
    """A source of random 64-bit keys."""

    def keys(self, number: int) -> NDArray[np.uint64]: ...


class SystemRandomness:
    """The operating system's cryptographic generator: for everything that is published."""

    def keys(self, number: int) -> NDArray[np.uint64]:
        keys = np.empty(number, dtype=np.uint64)

        def draw(part: slice) -> None:
            keys[part] = np.frombuffer(os.urandom(8 * len(keys[part])), dtype=np.uint64)

        side_by_side(draw, slices(number, longest=_DRAWN_TOGETHER))
        return keys


class SeededRandomness:
    """Repeatable keys, for studies and tests; whoever knows the seed knows the choices."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def keys(self, number: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 2**64, number, dtype=np.uint64)


def shuffled(number: int, randomness: Randomness) -> NDArray[np.int64]:
    """The numbers 0..number-1 in random order."""
    return order_by_keys(randomness.keys(number))
