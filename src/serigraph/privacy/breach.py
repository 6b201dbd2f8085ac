"""Breach probabilities in closed form, exactly.

``exposures`` are those of one person to one protected value: one for each release whose group of
the person held the value. Releases without the value may be left out or given with count 0; by
Lemma 5 they change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from serigraph.records import Exposure


def survival(exposures: Iterable[Exposure]) -> Fraction:
    """The probability of never having been linked: the product of (1 - n_{j,s}/n_j), Lemma 4.

    >>> survival([Exposure(4, 1), Exposure(4, 1)])
    Fraction(9, 16)
    >>> survival([])
    Fraction(1, 1)
    """
    unlinked, total = _products(exposures)
    return Fraction(unlinked, total)


def breach_probability(exposures: Iterable[Exposure]) -> Fraction:
    """p(o,s,k) by the closed form of Lemma 4: (prod n_j - prod (n_j - n_{j,s})) / prod n_j.

    The running example, with groups of two and with groups of four:

    >>> breach_probability([Exposure(2, 1), Exposure(2, 1)])
    Fraction(3, 4)
    >>> breach_probability([Exposure(4, 1), Exposure(4, 1)])
    Fraction(7, 16)
    """
    unlinked, total = _products(exposures)
    return Fraction(total - unlinked, total)


def localised_probability(exposures: Sequence[Exposure], j: int) -> Fraction:
    """q(o,s,j,k), the probability of a link in the j-th release alone (Section 3.1, Lemma 1).

    ``j`` counts from 1, as in the paper. The other releases cancel, so that n_{j,s}/n_j is left.

    >>> localised_probability([Exposure(2, 1), Exposure(4, 1)], 2)
    Fraction(1, 4)
    """
    if not 1 <= j <= len(exposures):
        raise ValueError(f"there is no release {j} among {len(exposures)}; j counts from 1")
    return Fraction(exposures[j - 1].count, exposures[j - 1].size)


def is_within_guarantee(exposures: Iterable[Exposure], threshold: Fraction) -> bool:
    """Whether p(o,s,k) <= threshold (Principle 2), decided in integers.

    Sizes 4, 11 and 45 reach 1/3 exactly; floats would refuse them:

    >>> is_within_guarantee([Exposure(4, 1), Exposure(11, 1), Exposure(45, 1)], Fraction(1, 3))
    True
    >>> 1 - (1 - 1 / 4) * (1 - 1 / 11) * (1 - 1 / 45) <= 1 / 3
    False
    """
    unlinked, total = _products(exposures)
    kept = threshold.denominator - threshold.numerator
    return unlinked * threshold.denominator >= kept * total


def boole_bound(exposures: Iterable[Exposure]) -> Fraction:
    """The sum of n_{j,s}/n_j, at most 1: Boole's inequality on the links of single releases.

    Differs from the paper: Lemma 4 takes the releases as independent. This needs less, namely that
    each release links with probability n_{j,s}/n_j when all others are known. Where values persist,
    this fails, and neither is a bound.

    >>> boole_bound([Exposure(4, 1), Exposure(4, 1)])
    Fraction(1, 2)
    """
    total = sum((Fraction(exposure.count, exposure.size) for exposure in exposures), Fraction(0))
    return min(Fraction(1), total)


def _products(exposures: Iterable[Exposure]) -> tuple[int, int]:
    """prod (n_j - n_{j,s}) and prod n_j, as they stand in Lemma 4."""
    unlinked = total = 1
    for exposure in exposures:
        unlinked *= exposure.size - exposure.count
        total *= exposure.size
    return unlinked, total
