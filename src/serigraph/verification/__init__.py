"""Verification: nothing is published that was not recomputed here."""

from serigraph.verification.verify import Proposal, verify

__all__ = ["Proposal", "verify"]
