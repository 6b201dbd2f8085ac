"""Cohorts of people who stay together, for values that persist."""

from serigraph.cohorts.standing import Arrangement, Rules, arrange, leavers
from serigraph.cohorts.uniting import Units, unite

__all__ = ["Arrangement", "Rules", "Units", "arrange", "leavers", "unite"]
