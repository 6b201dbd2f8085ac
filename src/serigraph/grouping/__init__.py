"""Forming groups: arrays in, group numbers out. The result is only a proposal."""

from serigraph.grouping.forming import (
    Box,
    Method,
    form_groups,
    whole_box,
    whole_cell,
)
from serigraph.grouping.numbering import Grouping
from serigraph.grouping.problem import Demand

__all__ = [
    "Box",
    "Demand",
    "Grouping",
    "Method",
    "form_groups",
    "whole_box",
    "whole_cell",
]
