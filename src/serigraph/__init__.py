"""Serigraph publishes microdata again and again under one guarantee over the whole series.

import serigraph

serigraph.init("clinic", table)              # proposes a policy from the first table
release = serigraph.publish(table, "clinic") # any of Polars, pandas, Arrow, DuckDB, or a path
release.tables["table"]                      # what the public gets
serigraph.status("clinic")
serigraph.audit("clinic")                    # all probabilities recomputed, files compared
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from serigraph._version import __version__

if TYPE_CHECKING:
    from serigraph.auditing import audit
    from serigraph.engines import export
    from serigraph.ledger import Series
    from serigraph.planning import plan
    from serigraph.publishing import history, status
    from serigraph.publishing.begin import begin as init
    from serigraph.reporting import publish_with_report as publish
    from serigraph.reporting import report_series as report
    from serigraph.reporting import verify_certificate as verify
    from serigraph.utility import evaluate

# Nothing heavy is imported before it is used, so that the command line starts at once.
_WHERE = {
    "Series": ("serigraph.ledger", "Series"),
    "audit": ("serigraph.auditing", "audit"),
    "export": ("serigraph.engines", "export"),
    "evaluate": ("serigraph.utility", "evaluate"),
    "init": ("serigraph.publishing", "begin"),
    "plan": ("serigraph.planning", "plan"),
    "publish": ("serigraph.reporting", "publish_with_report"),
    "report": ("serigraph.reporting", "report_series"),
    "verify": ("serigraph.reporting", "verify_certificate"),
    "status": ("serigraph.publishing", "status"),
    "history": ("serigraph.publishing", "history"),
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module, attribute = _WHERE[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'serigraph' has no attribute {name!r}")


__all__ = [
    "Series",
    "__version__",
    "audit",
    "evaluate",
    "export",
    "history",
    "init",
    "plan",
    "publish",
    "report",
    "status",
    "verify",
]
