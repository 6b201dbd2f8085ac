"""The people of a release and their past, as arrays that every later step reads."""

from serigraph.population.domain import Domain, Kind
from serigraph.population.history import (
    Different,
    Exposures,
    History,
    kind_of_numbers,
    kind_of_places,
    lists_of,
)
from serigraph.population.ordering import (
    are_in_order,
    ascend,
    occurrences,
    occurring,
    order_by,
    order_by_keys,
    ranked,
    starts_of,
)
from serigraph.population.people import CodedValues, Population, ProtectedValue
from serigraph.population.proof import Gap, Proof
from serigraph.population.standing import Standing, link_gaps, standing
from serigraph.population.taxonomy import Taxonomy
from serigraph.population.uniqueness import unique_rows

__all__ = [
    "CodedValues",
    "Different",
    "Domain",
    "Exposures",
    "Gap",
    "History",
    "Kind",
    "Population",
    "Proof",
    "ProtectedValue",
    "Standing",
    "Taxonomy",
    "are_in_order",
    "ascend",
    "kind_of_numbers",
    "kind_of_places",
    "link_gaps",
    "lists_of",
    "occurrences",
    "occurring",
    "order_by",
    "order_by_keys",
    "ranked",
    "standing",
    "starts_of",
    "unique_rows",
]
