"""Audits: how probable links have become, in Serigraph's series and in releases of other tools."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.auditing.agreement import Agreement
    from serigraph.auditing.auditor import Auditor
    from serigraph.auditing.crowds import CrowdFigures, CrowdsAfter, HolderFigures, ValueCrowds
    from serigraph.auditing.entry import audit
    from serigraph.auditing.figures import Figures
    from serigraph.auditing.from_releases import Tolerated
    from serigraph.auditing.releases import RELEASES_STAGES, audit_releases
    from serigraph.auditing.result import Audit, Examined, ReleaseFigures, WorstCase
    from serigraph.auditing.series import SERIES_STAGES, audit_series
    from serigraph.auditing.tally import OtherAssumption

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "RELEASES_STAGES": "serigraph.auditing.releases",
        "SERIES_STAGES": "serigraph.auditing.series",
        "Agreement": "serigraph.auditing.agreement",
        "Audit": "serigraph.auditing.result",
        "Auditor": "serigraph.auditing.auditor",
        "CrowdFigures": "serigraph.auditing.crowds",
        "CrowdsAfter": "serigraph.auditing.crowds",
        "Examined": "serigraph.auditing.result",
        "Figures": "serigraph.auditing.figures",
        "HolderFigures": "serigraph.auditing.crowds",
        "OtherAssumption": "serigraph.auditing.tally",
        "ReleaseFigures": "serigraph.auditing.result",
        "Tolerated": "serigraph.auditing.from_releases",
        "ValueCrowds": "serigraph.auditing.crowds",
        "WorstCase": "serigraph.auditing.result",
        "audit": "serigraph.auditing.entry",
        "audit_releases": "serigraph.auditing.releases",
        "audit_series": "serigraph.auditing.series",
    },
)

__all__ = [
    "RELEASES_STAGES",
    "SERIES_STAGES",
    "Agreement",
    "Audit",
    "Auditor",
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
