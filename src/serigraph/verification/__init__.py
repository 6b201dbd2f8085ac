"""Verification: nothing is published that was not recomputed here."""

from serigraph.verification.gaps import check_gaps
from serigraph.verification.verify import Proposal, verify

__all__ = ["Proposal", "check_gaps", "verify"]
