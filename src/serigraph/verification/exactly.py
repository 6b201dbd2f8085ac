"""Pairs decided in fractions, from the integers of the releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.records import Exposure
from serigraph.runtime.compiled import kernel
from serigraph.runtime.threads import parallel_map, slices
from serigraph.verification.composition import Composition
from serigraph.verification.earlier import EarlierGroups

_HALF = 32  # bits of a word
_BLOCK = 1 << 14  # pairs per block, to fit a processor's cache


def distinct_exposures(
    pairs: NDArray[np.int64],
    kind: NDArray[np.int64],
    composition: Composition,
    earlier: Sequence[EarlierGroups],
) -> Iterator[tuple[int, tuple[Exposure, ...]]]:
    """The exposures of pairs (charged person, entry), this release's last; with one of the entries
    that have them. Pairs whose values are of one ``kind`` and that have the same exposures, in any
    order, are returned once: where groups are as small as their threshold allows, nearly all pairs
    are decided here, and few differ."""

    def different(part: slice) -> NDArray[np.int64]:
        entry = pairs[part, 1]
        words = _words(pairs[part], composition, earlier)
        table = pl.DataFrame(np.column_stack([entry, kind[composition.value[entry]], words]))
        return table.unique(table.columns[1:], keep="first", maintain_order=True).to_numpy()

    found = np.concatenate(parallel_map(different, slices(len(pairs), longest=_BLOCK)))
    for entry, _, *words in found.tolist():
        yield (
            entry,
            tuple(Exposure(word >> _HALF, word & (1 << _HALF) - 1) for word in words if word),
        )


def _words(
    pairs: NDArray[np.int64], composition: Composition, earlier: Sequence[EarlierGroups]
) -> NDArray[np.int64]:
    """All exposures of pairs, a row each, with a size and a count in each word: earlier ones in
    ascending order, 0 if there was none, and this release's last."""
    person, entry = pairs.T
    value = composition.value[entry]
    found = np.zeros((len(pairs), len(earlier)), dtype=np.int64)
    for column, release in zip(found.T, earlier, strict=True):
        was = release.group[person]
        place = _find(was, value, release.start, release.value)
        known = place >= 0
        size = release.size[was[known]]
        column[known] = size << _HALF | release.count[place[known]]
    found.sort(axis=1)
    now = composition.size[composition.group_of(entry)] << _HALF | composition.count[entry]
    return np.column_stack([found, now])


@kernel
def _find(
    group: NDArray[np.int32],
    value: NDArray[np.uint32],
    start: NDArray[np.int64],
    values: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """Where each ``value[i]`` is among the ``values`` of ``group[i]``, or -1; a group of -1 is no
    group. Those of group g begin at ``start[g]``."""
    found = np.full(len(group), -1, dtype=np.int64)
    for i in range(len(group)):
        if group[i] >= 0:
            for e in range(start[group[i]], start[group[i] + 1]):
                if values[e] == value[i]:
                    found[i] = e
    return found
