"""What is protected since the first release, and what is left of its thresholds."""

from __future__ import annotations

from fractions import Fraction

from serigraph.ledger import ReleaseRecord
from serigraph.policy import Policy
from serigraph.tables.protection import ProtectedChoice


def known_choice(releases: tuple[ReleaseRecord, ...]) -> ProtectedChoice | None:
    """What is protected since the first release, if there is one."""
    return ProtectedChoice.from_json(releases[-1].protected_json) if releases else None


def threshold_left(releases: tuple[ReleaseRecord, ...], policy: Policy, name: str) -> Fraction:
    """What groups may spend of the threshold of a value, after what suppression has told."""
    choice, threshold = known_choice(releases), policy.threshold_of(name)
    return threshold if choice is None else choice.threshold_left(name, threshold)
