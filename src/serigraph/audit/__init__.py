"""Audits: how probable links have become, in series of Serigraph's own and of other tools."""

from serigraph.audit.agreement import Agreement
from serigraph.audit.figures import Figures
from serigraph.audit.from_releases import Tolerated
from serigraph.audit.releases import RELEASES_STAGES, audit_releases
from serigraph.audit.result import Audit, Examined, OtherAssumption, ReleaseFigures, WorstCase
from serigraph.audit.series import SERIES_STAGES, audit_series

__all__ = [
    "RELEASES_STAGES",
    "SERIES_STAGES",
    "Agreement",
    "Audit",
    "Examined",
    "Figures",
    "OtherAssumption",
    "ReleaseFigures",
    "Tolerated",
    "WorstCase",
    "audit_releases",
    "audit_series",
]
