"""The figures of a release that is about to be published, cheap enough for every release.

The largest probabilities are exact and of everybody. Means and distributions are of everybody too,
or of a sample of people where the release is large; the report says which.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.evidence import as_promised
from serigraph.auditing.figures import Figures, survey
from serigraph.auditing.from_draft import evidence_before_commit
from serigraph.engines import Made, Plan
from serigraph.errors import ImpossibleState
from serigraph.population import History, Population, Proof, ProtectedValue
from serigraph.publishing import Unpublished, UnpublishedElsewhere, UnpublishedHere
from serigraph.utility import query_errors

SAMPLE = 20_000
_MOST_FOR_QUERIES = 200_000
_QUERIED_COLUMNS = 2  # the paper's, where the table has as many
_QUERIES = 1_000


@dataclass(frozen=True)
class LargestInRelease:
    """The largest probability of a link in this release alone, under three adversaries."""

    as_promised: Fraction
    presence_known: Fraction
    one_member_known: Fraction


@dataclass(frozen=True)
class QueryError:
    """Relative errors of random range queries; three digits, so that nothing is read off them."""

    mean: float
    median: float
    percentile_95: float
    queries: int


@dataclass(frozen=True)
class PieceRisk:
    """What a report needs to know of a release, or of the part of it that one task made."""

    largest: Fraction  # over the series
    alone: LargestInRelease
    over_series: Figures  # of the sample
    sampled: int  # people
    people: int  # of which they are a sample
    sizes: tuple[tuple[int, int], ...]  # size of groups with a protected value, and how many
    query_error: QueryError | None
    protected: tuple[ProtectedValue, ...]
    holders: tuple[int, ...]  # of each protected value


@dataclass(frozen=True)
class ReleaseRisk:
    """Everything that a report says about the risk and the worth of one release."""

    largest: Fraction  # over the series
    alone: LargestInRelease
    over_series: Figures  # of the sample
    is_sample: bool
    sizes: tuple[tuple[int, int], ...]  # size of groups with a protected value, and how many
    query_error: QueryError | None
    protected: tuple[ProtectedValue, ...]
    holders: tuple[int, ...]


def risk_of(release: Unpublished) -> ReleaseRisk:
    """The figures of a release before it is committed; those of its pieces are added up."""
    pieces: tuple[PieceRisk, ...] = ()
    if isinstance(release, UnpublishedHere):
        known = release.policy.guarantee.adversary == "presence known"
        form = release.policy.output.form
        pieces = (_risk(release.made, form, known, release.history, release.history_ids),)
    elif isinstance(release, UnpublishedElsewhere):
        pieces = tuple(piece for piece in release.measured if isinstance(piece, PieceRisk))
    if not pieces:
        raise ImpossibleState("nothing was measured for the report of a release")
    sizes: Counter[int] = Counter()
    for piece in pieces:
        sizes.update(dict(piece.sizes))
    return ReleaseRisk(
        largest=max(piece.largest for piece in pieces),
        alone=LargestInRelease(
            as_promised=max(piece.alone.as_promised for piece in pieces),
            presence_known=max(piece.alone.presence_known for piece in pieces),
            one_member_known=max(piece.alone.one_member_known for piece in pieces),
        ),
        over_series=_together(pieces),
        is_sample=any(piece.sampled < piece.people for piece in pieces),
        sizes=tuple(sorted(sizes.items())),
        query_error=pieces[0].query_error if len(pieces) == 1 else None,
        protected=pieces[0].protected,
        holders=tuple(sum(each) for each in zip(*(p.holders for p in pieces), strict=True)),
    )


def measure_risk(made: Made, plan: Plan, history: History) -> PieceRisk:
    """What a report needs of the people that one task has made a part of a release for."""
    return _risk(made, plan.form, plan.is_presence_known, history, made.population.ids)


def _risk(
    made: Made, form: str, is_presence_known: bool, history: History, history_ids: pl.Series
) -> PieceRisk:
    protected = made.population.protected
    evidence, _ = evidence_before_commit(
        history, history_ids, made.proof, protected, is_presence_known, SAMPLE
    )
    size, groups = np.unique(made.proof.size[np.unique(made.proof.value_group)], return_counts=True)
    return PieceRisk(
        query_error=_query_error(made.population, made.proof, form),
        largest=made.proof.largest,
        alone=_alone(made.proof, is_presence_known),
        over_series=survey(evidence, as_promised(evidence)).after[-1],
        sampled=len(evidence.ids),
        people=len(made.proof.ids),
        sizes=tuple(zip(size.tolist(), groups.tolist(), strict=True)),
        protected=protected,
        holders=tuple(np.bincount(made.population.held, minlength=len(protected)).tolist()),
    )


def _together(pieces: tuple[PieceRisk, ...]) -> Figures:
    """The figures of samples that stand for different numbers of people."""
    if len(pieces) == 1:
        return pieces[0].over_series
    weights = [piece.people / max(piece.sampled, 1) for piece in pieces]
    figures = [piece.over_series for piece in pieces]

    def scaled(counts: list[int]) -> int:
        return round(sum(w * count for w, count in zip(weights, counts, strict=True)))

    pairs = scaled([each.pairs for each in figures])
    total = sum(w * each.pairs * each.mean for w, each in zip(weights, figures, strict=True))
    by_probability = zip(*(each.by_probability for each in figures), strict=True)
    by_share = zip(*(each.by_share_of_threshold for each in figures), strict=True)
    return Figures(
        pairs=pairs,
        people=sum(each.people for each in figures),
        largest=max(each.largest for each in figures),
        mean=total / max(pairs, 1),
        pairs_above=sum(each.pairs_above for each in figures),
        people_above=sum(each.people_above for each in figures),
        by_probability=tuple(scaled(list(counts)) for counts in by_probability),
        by_share_of_threshold=tuple(scaled(list(counts)) for counts in by_share),
    )


def _alone(proof: Proof, is_presence_known: bool) -> LargestInRelease:
    size = (proof.present_size if is_presence_known else proof.size)[proof.value_group]
    present = proof.present_size[proof.value_group]
    count = proof.value_count
    return LargestInRelease(
        as_promised=_largest(count, size),
        presence_known=_largest(count, present),
        one_member_known=_largest(count, np.maximum(size - 1, count)),
    )


def _largest(count: NDArray[np.int64], size: NDArray[np.int64]) -> Fraction:
    if not len(count):
        return Fraction(0)
    risk = count / size
    near = np.flatnonzero(risk >= risk.max() - 1e-9)
    kinds = set(zip(count[near].tolist(), size[near].tolist(), strict=True))
    return max(Fraction(c, n) for c, n in kinds)


def _query_error(population: Population, proof: Proof, form: str) -> QueryError | None:
    """None where the release is too large to be queried on the way."""
    if population.size > _MOST_FOR_QUERIES:
        return None
    group = np.full(population.size, -1, dtype=np.int64)
    place = population.ids.search_sorted(proof.ids).to_numpy()
    group[place] = proof.group
    found = query_errors(
        population,
        group,
        queries=_QUERIES,
        columns=min(_QUERIED_COLUMNS, len(population.domains)),
        seed=secrets.randbits(32),
        form="bucketised" if form == "bucketised" else "generalised",
    )
    if not found.queries:
        return None
    return QueryError(
        mean=_short(found.mean),
        median=_short(found.median),
        percentile_95=_short(found.percentile_95),
        queries=found.queries,
    )


def _short(number: float) -> float:
    return float(f"{number:.3g}")
