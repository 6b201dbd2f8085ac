"""The people of a release and their past, as arrays that every later step reads."""

from serigraph.model.classes import Classes, ClassKind
from serigraph.model.cohorts import CohortChanges, Cohorts
from serigraph.model.kinds import KINDS, Kind
from serigraph.model.numbers import whole_where_possible
from serigraph.model.past import Compositions, Past
from serigraph.model.people import CodedValues, Domain, Population, ProtectedValue
from serigraph.model.proof import Gap, Proof
from serigraph.model.recurrence import (
    Attendance,
    KeptValues,
    ValueOverTime,
    attendance_of,
    recurrences,
)
from serigraph.model.standing import Standing, link_gaps, shares_of, standing
from serigraph.model.taxonomy import Taxonomy
from serigraph.model.uniqueness import unique_rows
from serigraph.runtime.ordering import (
    are_in_order,
    ascend,
    occurrences,
    occurring,
    order_by,
    order_by_keys,
    ranked,
    starts_of,
)

__all__ = [
    "KINDS",
    "Attendance",
    "ClassKind",
    "Classes",
    "CodedValues",
    "CohortChanges",
    "Cohorts",
    "Compositions",
    "Domain",
    "Gap",
    "KeptValues",
    "Kind",
    "Past",
    "Population",
    "Proof",
    "ProtectedValue",
    "Standing",
    "Taxonomy",
    "ValueOverTime",
    "are_in_order",
    "ascend",
    "attendance_of",
    "link_gaps",
    "occurrences",
    "occurring",
    "order_by",
    "order_by_keys",
    "ranked",
    "recurrences",
    "shares_of",
    "standing",
    "starts_of",
    "unique_rows",
    "whole_where_possible",
]
