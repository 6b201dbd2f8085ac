"""Recoding: from groups to the tables that the public sees."""

from serigraph.recoding.loss import extents, normalised_widths
from serigraph.recoding.tables import bucketised, generalised
from serigraph.recoding.texts import as_text

__all__ = ["as_text", "bucketised", "extents", "generalised", "normalised_widths"]
