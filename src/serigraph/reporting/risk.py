"""The risk figures of a release about to be published, cheap enough for every release.

The largest probabilities are exact and cover everybody; those over the series are in the summary.
Means and distributions cover everybody too, or a sample if the release is large; the report says
which. A report is public: every figure in it follows from the public tables and the past releases.
Errors of queries, which compare a release with its table, do not: they reveal who holds a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.attacking.draft import attack_draft
from serigraph.attacking.scoring import Finding
from serigraph.auditing.figures import SHARES
from serigraph.engines import Plan, VerifiedRelease
from serigraph.errors import ImpossibleState
from serigraph.model import ClassKind, Past, Proof, ProtectedValue
from serigraph.policy import Persistence
from serigraph.publishing import Unpublished
from serigraph.runtime.ordering import distinct
from serigraph.runtime.threads import parallel_map, slices

_TOGETHER = 1 << 18  # pairs per batch, to stay in the CPU cache
_NOTHING_LEFT = 1e-300  # clamp: a survival of zero has no logarithm
_NEAR = 1e-9


@dataclass(frozen=True)
class Touched:
    """Pairs of a person and a value that a release touches, over all releases so far; from a sample
    if there are many people."""

    people: int  # in the sample
    of_people: int  # members of the release
    pairs: int
    mean: float
    by_share_of_threshold: tuple[
        int, ...
    ]  # tenths, upper ends inclusive; the last, above, is empty

    @property
    def is_sample(self) -> bool:
        return self.people < self.of_people


def touched_pairs(
    history: Past,
    history_ids: pl.Series,
    proof: Proof,
    protected: Sequence[ProtectedValue],
    plan: Plan,
    most_people: int,
) -> Touched:
    """The pairs of the members of a release and transient values. Above ``most_people``, every n-th
    member is sampled, as ids are unrelated to values. ``history_ids`` are the ids of the rows of
    the history, ascending."""
    step = max(1, -(-len(proof.ids) // most_people))
    chosen = np.arange(0, len(proof.ids), step)
    past = history.subset(history_ids.search_sorted(proof.ids.gather(chosen)).to_numpy())
    survived = _logarithm(past.held.survival)
    threshold = np.array([float(each.threshold) for each in protected])
    values = max(len(protected), 1)
    now = _Entries.of(proof, protected, plan)

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
    """The pairs of several parts of a release; samples weighted by the people they stand for."""
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


def with_classes(touched: Touched, classes: Sequence[ClassRisk]) -> Touched:
    """With the pairs of values that persist, everybody in a class with a published holder."""
    by_share, total = list(touched.by_share_of_threshold), touched.mean * touched.pairs
    pairs = touched.pairs
    for each in classes:
        for kind in each.kinds:
            probability = kind.probability(each.known_members)
            by_share[max(ceil(probability / each.threshold * SHARES) - 1, 0)] += kind.people
            total += float(probability) * kind.people
            pairs += kind.people
    return replace(
        touched, pairs=pairs, mean=total / max(pairs, 1), by_share_of_threshold=tuple(by_share)
    )


@dataclass(frozen=True)
class _Entries:
    """What the groups of a release hold, group by group."""

    start: NDArray[np.int64]
    value: NDArray[np.int64]
    survived: NDArray[np.float64]  # logarithms

    @staticmethod
    def of(proof: Proof, protected: Sequence[ProtectedValue], plan: Plan) -> _Entries:
        """Those of transient values."""
        names = [each.name for each in protected]
        transient = pl.Series([each.name for each in protected if not each.persists])
        is_asked = proof.value_name.cast(pl.String).is_in(transient.implode()).to_numpy()
        order = np.argsort(proof.value_group, kind="stable")
        order = order[is_asked[order]]
        group = proof.value_group[order].astype(np.int64)
        size = _people_seen(proof, plan)[group] - _excluded(proof)[group] - plan.known_members
        value = proof.value_name.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
        return _Entries(
            start=np.searchsorted(group, np.arange(len(proof.size) + 1)),
            value=value[order],
            survived=_logarithm(1.0 - proof.value_count[order] / size),
        )

    def of_groups(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of these groups: the index of the group in ``groups``, and of the entry."""
        lengths = self.start[groups + 1] - self.start[groups]
        before = np.cumsum(lengths) - lengths
        return (
            np.repeat(np.arange(len(groups)), lengths),
            np.repeat(self.start[groups] - before, lengths) + np.arange(lengths.sum()),
        )


def _people_seen(proof: Proof, plan: Plan) -> NDArray[np.int64]:
    """The people of each group as the adversary sees them."""
    # Where values persist, somebody who knows who is there does not know whose record is withheld.
    is_told = plan.is_presence_known and plan.cohorts is None
    return proof.present_size if is_told else proof.size


def _excluded(proof: Proof) -> NDArray[np.int64]:
    """The people of each group who cannot hold a transient value, as far as anybody can tell."""
    return np.zeros_like(proof.size) if proof.excluded is None else proof.excluded


def _logarithm(survival: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(survival, _NOTHING_LEFT))


SAMPLE = 20_000


@dataclass(frozen=True)
class LargestInRelease:
    """The largest probability of a link in this release alone, under three adversaries."""

    as_promised: Fraction
    presence_known: Fraction
    one_more_known: Fraction  # member of each group than the policy grants


@dataclass(frozen=True)
class ClassRisk:
    """The people who are alike, for one value that persists, after a release."""

    value: str
    persistence: Persistence
    threshold: Fraction
    known_members: int
    kinds: tuple[ClassKind, ...]

    @property
    def classes(self) -> int:
        return sum(each.classes for each in self.kinds)

    @property
    def largest(self) -> Fraction:
        """H/(|K| - c)."""
        return max(each.probability(self.known_members) for each in self.kinds)


@dataclass(frozen=True)
class PieceRisk:
    """The figures of a release, or of the part that one task made, for its report."""

    alone: LargestInRelease
    touched: Touched
    sizes: tuple[tuple[int, int], ...]  # size of groups with a protected value, and how many
    protected: tuple[ProtectedValue, ...]
    holders: tuple[int, ...]  # of each protected value
    classes: tuple[ClassRisk, ...] = ()  # of each value that persists and was ever shown
    findings: tuple[Finding, ...] = ()  # of attacks; they depend on who holds, and stay private


@dataclass(frozen=True)
class ReleaseRisk:
    """The figures about the risk and the utility of one release, for its report."""

    alone: LargestInRelease
    touched: Touched
    sizes: tuple[tuple[int, int], ...]  # size of groups with a protected value, and how many
    protected: tuple[ProtectedValue, ...]
    holders: tuple[int, ...]
    classes: tuple[ClassRisk, ...]


def risk_of(release: Unpublished) -> ReleaseRisk:
    """The figures of a release before it is committed, combined from its pieces."""
    pieces = tuple(piece for piece in release.measured if isinstance(piece, PieceRisk))
    if not pieces:
        raise ImpossibleState("the release has no figures for its report")
    sizes: Counter[int] = Counter()
    for piece in pieces:
        sizes.update(dict(piece.sizes))
    return ReleaseRisk(
        alone=LargestInRelease(
            as_promised=max(piece.alone.as_promised for piece in pieces),
            presence_known=max(piece.alone.presence_known for piece in pieces),
            one_more_known=max(piece.alone.one_more_known for piece in pieces),
        ),
        touched=with_classes(together([piece.touched for piece in pieces]), pieces[0].classes),
        sizes=tuple(sorted(sizes.items())),
        protected=pieces[0].protected,
        holders=tuple(sum(each) for each in zip(*(p.holders for p in pieces), strict=True)),
        classes=pieces[0].classes,
    )


def measure_risk(made: VerifiedRelease, plan: Plan, past: Past, past_ids: pl.Series) -> PieceRisk:
    """The figures of a release, or of the part that one task made, for its report. ``past`` has the
    people with ``past_ids``."""
    protected = made.population.protected
    size, groups = np.unique(made.proof.size[distinct(made.proof.value_group)], return_counts=True)
    return PieceRisk(
        alone=_alone(made.proof, protected, plan),
        touched=touched_pairs(past, past_ids, made.proof, protected, plan, SAMPLE),
        sizes=tuple(zip(size.tolist(), groups.tolist(), strict=True)),
        protected=protected,
        holders=tuple(np.bincount(made.population.held, minlength=len(protected)).tolist()),
        classes=tuple(_classes(made, plan)),
        findings=() if plan.highest_lift is None else attack_draft(made, plan),
    )


def attacked(release: Unpublished) -> tuple[Finding, ...]:
    """What attacks on the draft have found, piece by piece; for the publisher only."""
    pieces = (piece for piece in release.measured if isinstance(piece, PieceRisk))
    return tuple(finding for piece in pieces for finding in piece.findings)


def _classes(made: VerifiedRelease, plan: Plan) -> Iterator[ClassRisk]:
    if made.cohorts is None or plan.cohorts is None:
        return
    after = made.cohorts.after
    for name in after.holders:
        value = plan.cohorts.protect(name)
        kinds = after.kinds(name)
        yield ClassRisk(name, value.persistence, value.threshold, plan.known_members, kinds)


def _alone(proof: Proof, protected: Sequence[ProtectedValue], plan: Plan) -> LargestInRelease:
    persisting = pl.Series([each.name for each in protected if each.persists], dtype=pl.String)
    persists = proof.value_name.cast(pl.String).is_in(persisting.implode()).to_numpy()
    known = plan.known_members + np.where(persists, 0, _excluded(proof)[proof.value_group])
    size = _people_seen(proof, plan)[proof.value_group] - known
    present = proof.present_size[proof.value_group] - known
    count = proof.value_count
    return LargestInRelease(
        as_promised=_largest(count, size),
        presence_known=_largest(count, np.maximum(present, count)),
        one_more_known=_largest(count, np.maximum(size - 1, count)),
    )


def _largest(count: NDArray[np.int64], size: NDArray[np.int64]) -> Fraction:
    if not len(count):
        return Fraction(0)
    risk = count / size
    near = np.flatnonzero(risk >= risk.max() - 1e-9)
    kinds = set(zip(count[near].tolist(), size[near].tolist(), strict=True))
    return max(Fraction(c, n) for c, n in kinds)
