"""Audits: how probable links have become, in series of Serigraph's own and of other tools."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.auditing.agreement import Agreement
    from serigraph.auditing.auditor import Auditor
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
        "Examined": "serigraph.auditing.result",
        "Figures": "serigraph.auditing.figures",
        "OtherAssumption": "serigraph.auditing.tally",
        "ReleaseFigures": "serigraph.auditing.result",
        "Tolerated": "serigraph.auditing.from_releases",
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
    "Examined",
    "Figures",
    "OtherAssumption",
    "ReleaseFigures",
    "Tolerated",
    "WorstCase",
    "audit",
    "audit_releases",
    "audit_series",
]
