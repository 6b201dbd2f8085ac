"""Verification: nothing is published that was not recomputed here."""

from serigraph.verification.standing import Standing, standing
from serigraph.verification.verify import Proposal, verify

__all__ = ["Proposal", "Standing", "standing", "verify"]
