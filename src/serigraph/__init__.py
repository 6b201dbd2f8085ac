"""Serigraph publishes microdata repeatedly under one guarantee for the whole series.

import serigraph

serigraph.init("clinic", table)              # proposes a policy from the first table
release = serigraph.publish(table, "clinic") # Polars, pandas, Arrow, DuckDB, or a path
release.tables["table"]                      # what the public gets
serigraph.status("clinic")
serigraph.audit("clinic")                    # all probabilities recomputed, files compared
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serigraph._version import __version__
from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.attacking import attack
    from serigraph.auditing import audit
    from serigraph.engines import Local, Spark, export
    from serigraph.ledger import Series
    from serigraph.planning import plan
    from serigraph.publishing import begin as init
    from serigraph.publishing import history, status
    from serigraph.reporting import approve, discard_draft, draft, drafts, publish_draft
    from serigraph.reporting import publish_with_report as publish
    from serigraph.reporting import report_series as report
    from serigraph.reporting import verify_certificate as verify
    from serigraph.signing import make_key
    from serigraph.utility import evaluate

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "Local": "serigraph.engines",
        "Series": "serigraph.ledger",
        "Spark": "serigraph.engines",
        "approve": "serigraph.reporting",
        "attack": "serigraph.attacking",
        "audit": "serigraph.auditing",
        "export": "serigraph.engines",
        "discard_draft": "serigraph.reporting",
        "draft": "serigraph.reporting",
        "drafts": "serigraph.reporting",
        "evaluate": "serigraph.utility",
        "init": "serigraph.publishing:begin",
        "make_key": "serigraph.signing",
        "plan": "serigraph.planning",
        "publish": "serigraph.reporting:publish_with_report",
        "publish_draft": "serigraph.reporting",
        "report": "serigraph.reporting:report_series",
        "verify": "serigraph.reporting:verify_certificate",
        "status": "serigraph.publishing",
        "history": "serigraph.publishing",
    },
)

__all__ = [
    "Local",
    "Series",
    "Spark",
    "__version__",
    "approve",
    "attack",
    "audit",
    "discard_draft",
    "draft",
    "drafts",
    "evaluate",
    "export",
    "history",
    "init",
    "make_key",
    "plan",
    "publish",
    "publish_draft",
    "report",
    "status",
    "verify",
]
