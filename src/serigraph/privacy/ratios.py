"""The group size ratio n/n_s that keeps a person within the guarantee, exactly, and as floats for
kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from serigraph.errors import Infeasible


def minimum_ratio(threshold: Fraction, survival: Fraction) -> Fraction | float:
    """The smallest ratio n_k/n_{k,s} that keeps p(o,s,k) within the threshold (Theorem 1).

    ``survival`` is that of the releases before this one. In terms of it the bound of the paper is
    survival / (survival - (1 - threshold)); before the first link it is l.

    Differs from the paper: Theorem 1 presupposes a positive denominator. Where the budget is used
    up no ratio is large enough, and ``math.inf`` says so.

    >>> minimum_ratio(Fraction(1, 2), Fraction(9, 16))
    Fraction(9, 1)
    >>> minimum_ratio(Fraction(1, 2), Fraction(1)), minimum_ratio(Fraction(1, 2), Fraction(1, 2))
    (Fraction(2, 1), inf)
    """
    left = survival - (1 - threshold)
    return survival / left if left > 0 else math.inf


def smallest_size(ratio: Fraction | float, count: int = 1) -> int:
    """The smallest group of which ``count`` people may hold a value at this ratio (Theorem 1).

    A float ratio is taken as the exact number that it is.

    >>> smallest_size(Fraction(10, 3)), smallest_size(Fraction(10, 3), count=3)
    (4, 10)
    """
    _check_count(count)
    if ratio == math.inf:
        raise _used_up()
    return max(count, math.ceil(Fraction(ratio) * count))


def smallest_constant_size(threshold: Fraction, releases: int, count: int = 1) -> int:
    """The smallest size that every one of ``releases`` groups may have (Section 6.1).

    It is the least n with (1 - n_s/n)^k' >= 1 - threshold, found in integers.

    >>> [smallest_constant_size(Fraction(1, 2), releases) for releases in (1, 2, 5, 20)]
    [2, 4, 8, 30]
    """
    return smallest_equal_size(1 - threshold, releases, count)


def smallest_equal_size(remaining: Fraction, links: int, count: int = 1) -> int:
    """The least n with (1 - count/n)^links >= remaining, in integers (Section 6.1).

    ``remaining`` is the survival that is still to be spent, (1 - threshold) / survival so far.

    >>> smallest_equal_size(Fraction(2, 3), links=1)
    3
    """
    _check_count(count)
    _check_links(links)
    if remaining >= 1:
        raise _used_up()
    least = math.ceil(count / (1 - remaining))
    # Bernoulli: (1 - x)^m >= 1 - m x, so that this size is always enough.
    enough = math.ceil(count * links / (1 - remaining))
    while least < enough:  # the bisect module stops at sys.maxsize
        middle = (least + enough) // 2
        if _is_kept(middle, count, links, remaining):
            enough = middle
        else:
            least = middle + 1
    return enough


def equal_ratio(remaining: Fraction, links: int) -> float:
    """The least float r with (1 - 1/r)^links >= remaining (Section 6.1).

    Differs from the paper: its table prints n_c rounded to two digits, partly to numbers that are
    too large. n_c is irrational in general, so that a float can only be a bound: it is rounded up.

    >>> round(equal_ratio(Fraction(1, 2), links=2), 4), equal_ratio(Fraction(2, 3), links=1)
    (3.4142, 3.0)
    >>> equal_ratio(Fraction(1), links=3)
    inf
    """
    _check_links(links)
    if remaining >= 1:
        return math.inf
    spent = -math.expm1(log_of(remaining) / links)
    if spent < 1 / _LARGEST:
        return math.inf
    ratio = max(1.0, 1 / spent)
    while ratio < _LARGEST and not _is_kept(*ratio.as_integer_ratio(), links, remaining):
        ratio = math.nextafter(ratio, math.inf)
    while _is_kept(*(lower := math.nextafter(ratio, 0)).as_integer_ratio(), links, remaining):
        ratio = lower
    return ratio


def rounded_up(ratio: Fraction | float) -> float:
    """The least float that is not below ``ratio``; infinite beyond the range of floats.

    >>> rounded_up(Fraction(1, 3)) > Fraction(1, 3) > math.nextafter(rounded_up(Fraction(1, 3)), 0)
    True
    """
    if isinstance(ratio, float):
        return ratio
    try:
        nearest = float(ratio)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)


def log_of(remaining: Fraction) -> float:
    """ln of a fraction in (0, 1], without loss where it is close to 1.

    >>> log_of(1 - Fraction(1, 10**30))
    -1e-30
    """
    if 2 * remaining > 1:
        return math.log1p(-float(1 - remaining))
    return math.log(remaining.numerator) - math.log(remaining.denominator)


_LARGEST = 1e300  # ratios beyond it are as good as infinite


def _is_kept(size: int, count: int, links: int, remaining: Fraction) -> bool:
    """Whether (1 - count/size)^links >= remaining."""
    return bool(
        size >= count
        and (size - count) ** links * remaining.denominator >= remaining.numerator * size**links
    )


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"a ratio needs at least one holder of the value, not {count}")


def _check_links(links: int) -> None:
    if links < 1:
        raise ValueError(f"a plan needs at least one link, not {links}")


def _used_up() -> Infeasible:
    return Infeasible(
        "no group is large enough, because the budget of a person and a value is used up",
        remedy="keep the person out of every group that holds the value, or suppress the value",
    )


@dataclass(frozen=True, slots=True)
class TargetRule:
    """The ratio that a strategy asks for, as a formula of floats.

    With Q = (1 - threshold) / survival, B = -ln Q and j links so far, the target is the largest of
    ``factor / (1 - Q)`` (Theorem 1, times a factor), ``ratio_by_link[j]``, and 1 / (1 - exp(-b)),
    where b, what the link may spend, is ``share_by_link[j]`` B, or less to leave the ``reserve``,
    but at least ``least_spend``, or half of B if that is less; never less than ``smallest_spend``.
    An empty tuple asks for nothing; past its end, the last entry counts.

    Differs from the paper: a target proposes, it does not decide. Floats may be off by rounding:
    what was built with them is checked again in fractions.
    """

    ratio_by_link: tuple[float, ...]
    share_by_link: tuple[float, ...]
    factor: float
    reserve: float = 0.0
    least_spend: float = 0.0
    smallest_spend: float = 0.0

    def target(self, threshold: float, links: int, survival: float) -> float:
        """The ratio n/n_s for the next link; infinite where the budget is used up.

        >>> TargetRule((), (), 2.0).target(threshold=0.5, links=1, survival=0.75)
        6.0
        >>> TargetRule((3.5,), (), 1.0).target(threshold=0.5, links=1, survival=0.5)
        inf
        """
        left = survival - (1 - threshold)
        if left <= 0:
            return math.inf
        target = self.factor * survival / left
        if self.ratio_by_link:
            target = max(target, self.ratio_by_link[min(links, len(self.ratio_by_link) - 1)])
        if self.share_by_link:
            spent = self.spent(links, -math.log1p(-left / survival))
            target = max(target, -1 / math.expm1(-spent))
        return target

    def spent(self, links: int, budget: float) -> float:
        """What the next link may take of a pair's ``budget`` by its share.

        >>> rule = TargetRule((), (0.5,), 1.0, reserve=0.5, least_spend=0.125)
        >>> rule.spent(links=0, budget=2.0), rule.spent(0, 0.75), rule.spent(0, 0.5)
        (1.0, 0.25, 0.125)
        >>> rule.spent(0, 0.125)
        0.0625
        """
        share = self.share_by_link[min(links, len(self.share_by_link) - 1)]
        least = max(min(self.least_spend, budget / 2), self.smallest_spend)
        return max(min(share * budget, budget - self.reserve), least)


ASKS_NOTHING = TargetRule((), (), 0.0)
"""The rule of values that persist: cohorts protect them, however large the group."""
