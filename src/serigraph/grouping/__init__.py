"""Forming groups: arrays in, group numbers out. What comes out is a proposal, not a fact."""

from serigraph.grouping.forming import Grouping, Method, excess_pairs, form_groups
from serigraph.grouping.problem import Demand

__all__ = ["Demand", "Grouping", "Method", "excess_pairs", "form_groups"]
