"""Verification: nothing is published that was not recomputed here."""

from serigraph.verification.earlier import EarlierReleases
from serigraph.verification.gaps import check_gaps
from serigraph.verification.in_memory import RememberedRelease, RememberedReleases
from serigraph.verification.on_disk import CommittedRelease, LedgerOnDisk
from serigraph.verification.proposal import Proposal
from serigraph.verification.verify import verify

__all__ = [
    "CommittedRelease",
    "EarlierReleases",
    "LedgerOnDisk",
    "Proposal",
    "RememberedRelease",
    "RememberedReleases",
    "check_gaps",
    "verify",
]
