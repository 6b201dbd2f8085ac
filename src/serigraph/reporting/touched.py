"""How probable the pairs are that a release touches, before it is committed: for display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.figures import SHARES
from serigraph.model import Past, Proof, ProtectedValue
from serigraph.runtime.threads import parallel_map, slices

_TOGETHER = 1 << 18  # pairs that are looked at together, in a processor's cache
_NOTHING_LEFT = 1e-300  # stands for a survival of zero, which has no logarithm
_NEAR = 1e-9


@dataclass(frozen=True)
class Touched:
    """Pairs of a person and a value that a release touches, over all releases up to it; of a
    sample of the people where there are many."""

    people: int  # of whom the pairs are
    of_people: int  # members of the release
    pairs: int
    mean: float
    by_share_of_threshold: tuple[int, ...]  # in tenths, each up to its end; none is above

    @property
    def is_sample(self) -> bool:
        return self.people < self.of_people


def touched_pairs(
    history: Past,
    history_ids: pl.Series,
    proof: Proof,
    protected: Sequence[ProtectedValue],
    is_presence_known: bool,
    most_people: int,
) -> Touched:
    """The pairs of the members of a release; of more than ``most_people`` every so many-th is
    taken, since ids say nothing about values. ``history_ids`` say whose the rows of the history
    are, and ascend."""
    step = max(1, -(-len(proof.ids) // most_people))
    chosen = np.arange(0, len(proof.ids), step)
    past = history.subset(history_ids.search_sorted(proof.ids.gather(chosen)).to_numpy())
    survived = _logarithm(past.held.survival)
    threshold = np.array([float(each.threshold) for each in protected])
    values = max(len(protected), 1)
    now = _Entries.of(proof, [each.name for each in protected], is_presence_known)

    def part(people: slice) -> tuple[float, NDArray[np.int64]]:
        person, _, exposure = past.exposures(people)
        was = person * values + past.held.value[exposure]
        pairs = (people.stop - people.start) * values
        before = np.bincount(was, survived[exposure], minlength=pairs)
        member, entry = now.of_groups(proof.group[chosen[people]].astype(np.int64))
        total = before[member * values + now.value[entry]] + now.survived[entry]
        probability = -np.expm1(total)
        share = probability / threshold[now.value[entry]]
        tenth = np.clip(np.ceil(share * SHARES - _NEAR).astype(np.int64) - 1, 0, SHARES - 1)
        return float(probability.sum()), np.bincount(tenth, minlength=SHARES + 1)

    parts = parallel_map(part, slices(len(chosen), max(_TOGETHER // values, 1)))
    by_share = np.zeros(SHARES + 1, dtype=np.int64)
    for _, each in parts:
        by_share += each
    pairs = int(by_share.sum())
    return Touched(
        people=len(chosen),
        of_people=len(proof.ids),
        pairs=pairs,
        mean=sum(each for each, _ in parts) / max(pairs, 1),
        by_share_of_threshold=tuple(by_share.tolist()),
    )


def together(pieces: Sequence[Touched]) -> Touched:
    """The pairs of several parts of a release, whose samples may stand for different numbers of
    people each."""
    weights = [piece.of_people / max(piece.people, 1) for piece in pieces]
    by_share = [
        round(sum(weight * pairs for weight, pairs in zip(weights, tenth, strict=True)))
        for tenth in zip(*(piece.by_share_of_threshold for piece in pieces), strict=True)
    ]
    total = sum(w * each.pairs * each.mean for w, each in zip(weights, pieces, strict=True))
    pairs = sum(w * each.pairs for w, each in zip(weights, pieces, strict=True))
    return Touched(
        people=sum(piece.people for piece in pieces),
        of_people=sum(piece.of_people for piece in pieces),
        pairs=round(pairs),
        mean=total / max(pairs, 1),
        by_share_of_threshold=tuple(by_share),
    )


@dataclass(frozen=True)
class _Entries:
    """What the groups of a release hold, group by group."""

    start: NDArray[np.int64]
    value: NDArray[np.int64]
    survived: NDArray[np.float64]  # logarithms

    @staticmethod
    def of(proof: Proof, names: Sequence[str], is_presence_known: bool) -> _Entries:
        order = np.argsort(proof.value_group, kind="stable")
        group = proof.value_group[order].astype(np.int64)
        size = (proof.present_size if is_presence_known else proof.size)[group]
        value = proof.value_name.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
        return _Entries(
            start=np.searchsorted(group, np.arange(len(proof.size) + 1)),
            value=value[order],
            survived=_logarithm(1.0 - proof.value_count[order] / size),
        )

    def of_groups(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of these groups: the place of the group among them, and that of the entry."""
        lengths = self.start[groups + 1] - self.start[groups]
        before = np.cumsum(lengths) - lengths
        return (
            np.repeat(np.arange(len(groups)), lengths),
            np.repeat(self.start[groups] - before, lengths) + np.arange(lengths.sum()),
        )


def _logarithm(survival: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(survival, _NOTHING_LEFT))
