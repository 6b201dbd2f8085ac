"""Recoding: from groups to the tables that the public sees."""

from serigraph.recoding.loss import normalised_widths
from serigraph.recoding.tables import bucketised, generalised

__all__ = ["bucketised", "generalised", "normalised_widths"]
