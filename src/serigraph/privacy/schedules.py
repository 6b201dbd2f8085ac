"""The schedule of ratios that makes the expected group size least.

If w_j is the chance that a pair of a person and a value is linked at least j times, then minimising
sum_j w_j r_j under prod_j (1 - 1/r_j) >= 1 - 1/l gives r_j (r_j - 1) = c / w_j for one constant c.
Both strategies of the paper are points of it: w_j = 1 gives the constant ratio, and chances that
fall by a factor q give ratios that grow by about q^(-1/2) a link, as the geometric strategy's do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from serigraph.privacy.ratios import equal_ratio, log_of

SMALLEST_CHANCE = 1e-15  # below it the ratios leave the range in which floats can solve for c


@lru_cache(maxsize=256)
def scheduled_ratios(
    threshold: Fraction, link_chances: tuple[Fraction | float, ...]
) -> tuple[float, ...]:
    """r_1, ..., r_k' with r_j (r_j - 1) = c / w_j, the least c that keeps the guarantee.

    Differs from the paper: it knows the two strategies only, not the optimum between them. The
    ratios are floats, rounded so that prod (1 - 1/r_j) >= 1 - threshold holds exactly for them.

    >>> [round(r, 4) for r in scheduled_ratios(Fraction(1, 2), (1, 1))]
    [3.4142, 3.4142]
    >>> [round(r, 4) for r in scheduled_ratios(Fraction(1, 2), (1, Fraction(1, 4)))]
    [2.7071, 4.8284]
    """
    weights = [float(chance) for chance in link_chances]
    budget = -log_of(1 - threshold)
    # All of the budget on the first link asks for the least c, equal shares for the largest.
    low = weights[0] * _times_predecessor(equal_ratio(1 - threshold, 1)) / 2
    high = weights[0] * _times_predecessor(equal_ratio(1 - threshold, len(weights))) * 2
    while low < (middle := math.sqrt(low * high)) < high:
        if sum(spend(r) for r in _ratios(middle, weights)) > budget:
            low = middle
        else:
            high = middle
    step = 2.0**-52
    while not _is_kept(ratios := _ratios(high, weights), threshold):
        high *= 1 + step
        step *= 2
    return tuple(ratios)


def spend(ratio: float) -> float:
    """What a link at this ratio takes from the budget -ln(1 - threshold): -ln(1 - 1/r), Lemma 4.

    >>> round(spend(2.0), 4), spend(math.inf)
    (0.6931, 0.0)
    """
    return -math.log1p(-1 / ratio) if ratio > 1 else math.inf


def learned_link_chances(
    links_histogram: Sequence[int], *, further_links: int = 20
) -> tuple[Fraction, ...]:
    """w_j, the share of pairs that were linked at least j times, among those linked at all.

    ``links_histogram[i]`` counts the pairs of a person and a value that have i links; what it holds
    at 0 does not matter. The chances do not increase and w_1 = 1. Links that nobody had yet are
    dropped, and then ``further_links`` of them follow (as many as the paper's default k') with the
    chance 1 / (pairs + 1), which no observed share is below: a pair that goes further than any
    before it must find some budget left. So a ledger without links plans for a constant ratio.

    Differs from the paper: Section 6.2 suggests such a distribution, and gives no way to use it.

    >>> learned_link_chances([7, 2, 1, 1, 0], further_links=2)
    (Fraction(1, 1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 5), Fraction(1, 5))
    >>> learned_link_chances([], further_links=3)
    (Fraction(1, 1), Fraction(1, 1), Fraction(1, 1))
    """
    if any(pairs < 0 for pairs in links_histogram):
        raise ValueError("a histogram of links cannot hold negative counts of pairs")
    if further_links < 1:
        raise ValueError(f"at least one further link must stay possible, not {further_links}")
    linked = [int(pairs) for pairs in links_histogram[1:]]
    pairs = sum(linked)
    observed = [
        Fraction(at_least, pairs)
        for at_least in (sum(linked[j:]) for j in range(len(linked)))
        if at_least > 0
    ]
    return (*observed, *[Fraction(1, pairs + 1)] * further_links)


def _times_predecessor(ratio: float) -> float:
    return ratio * (ratio - 1)


def _ratios(constant: float, weights: Sequence[float]) -> list[float]:
    return [(1 + math.sqrt(1 + 4 * constant / weight)) / 2 for weight in weights]


def _is_kept(ratios: Sequence[float], threshold: Fraction) -> bool:
    """Whether prod (1 - 1/r_j) >= 1 - threshold, for the exact numbers that the floats are."""
    parts = [ratio.as_integer_ratio() for ratio in ratios]
    unlinked = math.prod(numerator - denominator for numerator, denominator in parts)
    total = math.prod(numerator for numerator, _ in parts)
    kept = threshold.denominator - threshold.numerator
    return unlinked * threshold.denominator >= kept * total
