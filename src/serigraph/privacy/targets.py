"""A strategy as plain numbers, for compiled kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetRule:
    """The ratio that a strategy asks for, as a formula of floats.

    With Q = (1 - threshold) / survival, B = -ln Q and j links so far, the target is the largest of
    ``factor / (1 - Q)`` (Theorem 1, times a factor), ``ratio_by_link[j]``, and
    1 / (1 - exp(-``share_by_link[j]`` B)). An empty tuple asks for nothing; past its end the last
    entry holds on.

    Differs from the paper: a target proposes, it does not decide. Floats may be off by rounding,
    so that whatever was built with them is checked again in fractions.
    """

    ratio_by_link: tuple[float, ...]
    share_by_link: tuple[float, ...]
    factor: float

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
            share = self.share_by_link[min(links, len(self.share_by_link) - 1)]
            log_kept = share * math.log1p(-left / survival)
            target = max(target, -1 / math.expm1(log_kept))
        return target


ASKS_NOTHING = TargetRule((), (), 0.0)
"""The rule of values that persist: cohorts protect them, however large the group."""
