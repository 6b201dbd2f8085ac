"""Recoding: from groups to the tables that the public sees."""

from serigraph.recoding.labels import as_text
from serigraph.recoding.tables import (
    bucketised,
    extents,
    generalised,
    normalised_widths,
    regions_of,
)

__all__ = ["as_text", "bucketised", "extents", "generalised", "normalised_widths", "regions_of"]
