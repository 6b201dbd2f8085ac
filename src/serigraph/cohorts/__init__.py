"""Cohorts of people who stay together, for values that persist."""

from serigraph.cohorts.once import TooManyHolders, arrange_once
from serigraph.cohorts.standing import (
    Arrangement,
    Rules,
    arrange,
    leavers,
    published_holders,
)
from serigraph.cohorts.uniting import Units, unite

__all__ = [
    "Arrangement",
    "Rules",
    "TooManyHolders",
    "Units",
    "arrange",
    "arrange_once",
    "leavers",
    "published_holders",
    "unite",
]
