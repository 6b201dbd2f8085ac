"""Engines: the same algorithm on one machine or on many."""

from serigraph.engines.local import make_release
from serigraph.engines.plan import Form, Made, Plan, Progress, silently

__all__ = ["Form", "Made", "Plan", "Progress", "make_release", "silently"]
