"""Pairs of numbers packed into words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from serigraph.runtime.ordering import ascend


def distinct(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each word once, ascending. (NumPy's own takes ten times as long: it hashes them.)

    >>> distinct(np.array([3, 1, 3])).tolist(), distinct(np.array([], dtype=np.int64)).tolist()
    ([1, 3], [])
    """
    if ascend(words):
        return words
    words = np.sort(words)
    is_first = np.ones(len(words), dtype=np.bool_)
    np.not_equal(words[1:], words[:-1], out=is_first[1:])
    return words[is_first]


def counted(words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each word once, ascending, and how often it occurs.

    >>> [each.tolist() for each in counted(np.array([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    words = np.sort(words)
    first = np.flatnonzero(np.diff(words, prepend=words[:1] - 1))
    return words[first], np.diff(first, append=len(words))


def are_among(words: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which words are among others, which ascend.

    >>> are_among(np.array([5, 1, 9]), np.array([1, 5, 7])).tolist()
    [True, True, False]
    """
    if not len(others):
        return np.zeros(len(words), dtype=np.bool_)
    place = np.minimum(np.searchsorted(others, words), len(others) - 1)
    return np.asarray(others[place] == words)
