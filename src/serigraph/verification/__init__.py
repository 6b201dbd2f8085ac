"""Verification: nothing is published that was not recomputed here."""

from serigraph.verification.committed import CommittedRelease, Standing
from serigraph.verification.earlier import EarlierReleases
from serigraph.verification.gaps import check_gaps
from serigraph.verification.in_memory import RememberedRelease, RememberedReleases
from serigraph.verification.on_disk import LedgerOnDisk
from serigraph.verification.proposal import Proposal, ProposedCohorts
from serigraph.verification.recorded_cohorts import CohortTerms, RecordedCohorts
from serigraph.verification.verify import verify

__all__ = [
    "CohortTerms",
    "CommittedRelease",
    "EarlierReleases",
    "LedgerOnDisk",
    "Proposal",
    "ProposedCohorts",
    "RecordedCohorts",
    "RememberedRelease",
    "RememberedReleases",
    "Standing",
    "check_gaps",
    "verify",
]
