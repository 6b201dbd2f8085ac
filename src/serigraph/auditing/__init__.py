"""Audits: how probable links have become, in series of Serigraph's own and of other tools."""

from serigraph.auditing.agreement import Agreement
from serigraph.auditing.crowds import CrowdFigures, CrowdsAfter, HolderFigures, ValueCrowds
from serigraph.auditing.entry import audit
from serigraph.auditing.figures import Figures
from serigraph.auditing.from_releases import Tolerated
from serigraph.auditing.releases import RELEASES_STAGES, audit_releases
from serigraph.auditing.result import Audit, Examined, ReleaseFigures, WorstCase
from serigraph.auditing.series import SERIES_STAGES, audit_series
from serigraph.auditing.tally import OtherAssumption

__all__ = [
    "RELEASES_STAGES",
    "SERIES_STAGES",
    "Agreement",
    "Audit",
    "CrowdFigures",
    "CrowdsAfter",
    "Examined",
    "Figures",
    "HolderFigures",
    "OtherAssumption",
    "ReleaseFigures",
    "Tolerated",
    "ValueCrowds",
    "WorstCase",
    "audit",
    "audit_releases",
    "audit_series",
]
