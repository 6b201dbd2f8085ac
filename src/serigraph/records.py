"""The frozen vocabulary that all layers share.

Records never change after they are made, are checked when they are made, and grow only by new
fields with a default.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Exposure:
    """One group that held a person and a protected value: the paper's (n_j, n_{j,s}).

    >>> Exposure(size=4, count=1).survival
    Fraction(3, 4)
    """

    size: int  # n_j: people in the group
    count: int  # n_{j,s}: people in the group that hold the value

    def __post_init__(self) -> None:
        if not (0 <= self.count <= self.size and self.size >= 1):
            raise ValueError(
                f"an exposure needs 0 <= count <= size, not {self.count} of {self.size}"
            )

    @property
    def survival(self) -> Fraction:
        """The probability of not being linked in this group, 1 - n_{j,s}/n_j."""
        return 1 - Fraction(self.count, self.size)
