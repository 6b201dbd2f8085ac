"""Recoding: from groups to the tables that the public sees."""

from serigraph.recoding.labels import as_text
from serigraph.recoding.records import (
    RecordShape,
    generalised_records,
    record_columns,
    records_of_groups,
)
from serigraph.recoding.tables import (
    bucketised,
    extents,
    generalised,
    normalised_widths,
    regions_of,
)

__all__ = [
    "RecordShape",
    "as_text",
    "bucketised",
    "extents",
    "generalised",
    "generalised_records",
    "normalised_widths",
    "record_columns",
    "records_of_groups",
    "regions_of",
]
