"""Planning: what each strategy requires and costs, before the next release."""

from serigraph.planning.outlook import LinksLeft, Outlook, ValueFit
from serigraph.planning.persistence import PersistenceCost
from serigraph.planning.recommendation import Recommendation
from serigraph.planning.rehearsal import Expected
from serigraph.planning.returning import ReturnRate
from serigraph.planning.series_plan import STAGES, SeriesPlan, plan

__all__ = [
    "STAGES",
    "Expected",
    "LinksLeft",
    "Outlook",
    "PersistenceCost",
    "Recommendation",
    "ReturnRate",
    "SeriesPlan",
    "ValueFit",
    "plan",
]
