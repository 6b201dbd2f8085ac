"""The policy of a series: a TOML file, checked as a whole, parts of it fixed once published."""

from serigraph.policy.model import Policy
from serigraph.policy.reading import check_unchanged, digest_of_policy, parse_policy, read_policy
from serigraph.policy.sections import (
    Output,
    Persistence,
    Protected,
    QuasiIdentifier,
    Reading,
    Sensitive,
    persistence_of,
    why_unusable,
)

__all__ = [
    "Output",
    "Persistence",
    "Policy",
    "Protected",
    "QuasiIdentifier",
    "Reading",
    "Sensitive",
    "check_unchanged",
    "digest_of_policy",
    "parse_policy",
    "persistence_of",
    "read_policy",
    "why_unusable",
]
