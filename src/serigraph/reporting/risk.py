"""The figures of a release that is about to be published, cheap enough for every release.

The largest probabilities are exact and of everybody. Means and distributions are of everybody too,
or of a sample of people where the release is large; the report says which.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from serigraph.auditing.evidence import as_promised
from serigraph.auditing.figures import Figures, survey
from serigraph.auditing.from_draft import evidence_before_commit
from serigraph.population import Population, Proof
from serigraph.publishing import Unpublished
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
class ReleaseRisk:
    """Everything that a report says about the risk and the worth of one release."""

    largest: Fraction  # over the series
    alone: LargestInRelease
    over_series: Figures  # of the sample
    is_sample: bool
    sizes: NDArray[np.int64]  # of the groups with a protected value
    query_error: QueryError | None


def risk_of(release: Unpublished) -> ReleaseRisk:
    """Compute the figures of a release before it is committed."""
    made = release.made
    is_presence_known = release.policy.guarantee.adversary == "presence known"
    evidence, is_sample = evidence_before_commit(
        release.history,
        release.history_ids,
        made.proof,
        made.population.protected,
        is_presence_known,
        SAMPLE,
    )
    linked = np.unique(made.proof.value_group)
    return ReleaseRisk(
        largest=made.proof.largest,
        alone=_alone(made.proof, is_presence_known),
        over_series=survey(evidence, as_promised(evidence)).after[-1],
        is_sample=is_sample,
        sizes=made.proof.size[linked],
        query_error=_query_error(made.population, made.proof, release.policy.output.form),
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
