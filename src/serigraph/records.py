"""The frozen vocabulary that all layers share.

Records are checked when they are made, never change afterwards, and only gain fields that have a
default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Exposure:
    """One group that held a person and a protected value: the paper's (n_j, n_{j,s}).

    >>> Exposure(size=4, count=1).survival
    Fraction(3, 4)
    """

    size: int  # n_j: people in the group
    count: int  # n_{j,s}: people in the group who hold the value

    def __post_init__(self) -> None:
        if not (0 <= self.count <= self.size and self.size >= 1):
            raise ValueError(
                f"an exposure needs 0 <= count <= size, not {self.count} of {self.size}"
            )

    @property
    def survival(self) -> Fraction:
        """The probability of not being linked in this group, 1 - n_{j,s}/n_j."""
        return 1 - Fraction(self.count, self.size)


@dataclass(frozen=True, slots=True)
class WorstPair:
    """The pair of a person and a value that is closest to its own threshold, without the person.

    Values may have their own thresholds, so pairs are compared by the share of their threshold that
    they have reached.
    """

    value: str  # empty where an old release did not record it
    probability: Fraction
    threshold: Fraction

    @property
    def share(self) -> Fraction:
        """The share of the threshold that is reached.

        >>> WorstPair("HIV", Fraction(2, 25), Fraction(1, 10)).share
        Fraction(4, 5)
        """
        return self.probability / self.threshold

    def __str__(self) -> str:
        """
        >>> str(WorstPair("HIV", Fraction(2, 25), Fraction(1, 10)))
        '0.0800, threshold 1/10'
        """
        return f"{float(self.probability):.4f}, threshold {self.threshold}"

    def to_json(self) -> dict[str, str]:
        return {
            "value": self.value,
            "probability": str(self.probability),
            "threshold": str(self.threshold),
        }

    @staticmethod
    def from_json(known: Mapping[str, str]) -> WorstPair:
        return WorstPair(
            known["value"], Fraction(known["probability"]), Fraction(known["threshold"])
        )


def worst_of(pairs: Iterable[WorstPair | None]) -> WorstPair | None:
    """The pair closest to its threshold; None if there is none."""
    return max(
        (pair for pair in pairs if pair is not None), key=lambda pair: pair.share, default=None
    )
