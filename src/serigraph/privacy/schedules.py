"""The schedule of ratios with the smallest expected group size.

If w_j is the chance that a pair of a person and a value is linked at least j times, then minimising
sum_j w_j r_j under prod_j (1 - 1/r_j) >= 1 - 1/l gives r_j (r_j - 1) = c / w_j for one constant c.
Both strategies of the paper are special cases: w_j = 1 gives the constant ratio, and chances that
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

    Differs from the paper: it has the two strategies only, not the optimum between them. The
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


def first_share(budget: float, weights: Sequence[float]) -> float:
    """The share of a budget that the first of some links takes, with r_j (r_j - 1) = c / w_j.

    Differs from the paper: see ``scheduled_ratios``, of which this is the first in floats.

    >>> round(first_share(math.log(2), [1, 1]), 6), round(first_share(math.log(2), [1, 0.25]), 6)
    (0.5, 0.665198)
    """
    if len(weights) == 1:
        return 1.0
    # r (r - 1) = c / w means that spend(r) = 2 asinh(s sqrt(w)), with s = 1 / (2 sqrt(c)). The sum
    # is concave in s and below 2 s sum(sqrt(w)), so that Newton's steps rise to the solution.
    roots = [math.sqrt(weight) for weight in weights]
    if budget <= 0:  # used up: the limit
        return roots[0] / sum(roots)
    scale, step = 0.0, budget / 2 / sum(roots)
    while scale + step > scale:
        scale += step
        left = budget - sum(2 * math.asinh(scale * root) for root in roots)
        step = left / sum(2 * root / math.hypot(1, scale * root) for root in roots)
    return 2 * math.asinh(scale * roots[0]) / budget


def spend(ratio: float) -> float:
    """What a link at this ratio takes from the budget -ln(1 - threshold): -ln(1 - 1/r), Lemma 4.

    >>> round(spend(2.0), 4), spend(math.inf)
    (0.6931, 0.0)
    """
    return -math.log1p(-1 / ratio) if ratio > 1 else math.inf


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
