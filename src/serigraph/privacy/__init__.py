"""The mathematics of the guarantee, in exact fractions.

Numbers of lemmas, theorems and sections are those of Wong, Fu, Liu, Wang and Xu, "Preserving
Individual Privacy in Serial Data Publishing"; docs/theorems.md lists them all.
"""

from serigraph.privacy.adaptive import Adaptive, largest_share
from serigraph.privacy.alikeness import (
    Seen,
    crowd_probability,
    crowds,
    holder_bounds,
    most_holders,
    sight,
    smallest_crowd,
)
from serigraph.privacy.breach import (
    boole_bound,
    breach_probability,
    is_within_guarantee,
    localised_probability,
    survival,
)
from serigraph.privacy.gaps import gap_risk, threshold_left
from serigraph.privacy.link_chances import LinkGaps, link_chances, relink_hazards
from serigraph.privacy.persistence import Recurrence, Return
from serigraph.privacy.ratios import (
    TargetRule,
    minimum_ratio,
    smallest_constant_size,
    smallest_size,
)
from serigraph.privacy.schedules import scheduled_ratios
from serigraph.privacy.strategies import ConstantRatio, Geometric, OptimalSchedule, Strategy
from serigraph.privacy.thresholds import parse_threshold, threshold_text
from serigraph.privacy.worlds import worlds_of_group, worlds_of_series

__all__ = [
    "Adaptive",
    "ConstantRatio",
    "Geometric",
    "LinkGaps",
    "OptimalSchedule",
    "Recurrence",
    "Return",
    "Seen",
    "Strategy",
    "TargetRule",
    "boole_bound",
    "breach_probability",
    "crowd_probability",
    "crowds",
    "gap_risk",
    "holder_bounds",
    "is_within_guarantee",
    "largest_share",
    "link_chances",
    "localised_probability",
    "minimum_ratio",
    "most_holders",
    "parse_threshold",
    "relink_hazards",
    "scheduled_ratios",
    "sight",
    "smallest_constant_size",
    "smallest_crowd",
    "smallest_size",
    "survival",
    "threshold_left",
    "threshold_text",
    "worlds_of_group",
    "worlds_of_series",
]
