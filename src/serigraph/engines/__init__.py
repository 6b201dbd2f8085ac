"""Engines: the same algorithm on one machine or on many."""

from serigraph.engines.exporting import export
from serigraph.engines.local import make_release
from serigraph.engines.plan import Engine, Form, Made, Plan

__all__ = ["Engine", "Form", "Made", "Plan", "export", "make_release"]
