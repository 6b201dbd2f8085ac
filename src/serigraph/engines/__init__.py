"""Engines: the same algorithm on one machine or on many."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.engines.exporting import export
    from serigraph.engines.local import make_release
    from serigraph.engines.plan import Engine, Form, Plan, VerifiedRelease

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "Engine": "serigraph.engines.plan",
        "Form": "serigraph.engines.plan",
        "VerifiedRelease": "serigraph.engines.plan",
        "Plan": "serigraph.engines.plan",
        "export": "serigraph.engines.exporting",
        "make_release": "serigraph.engines.local",
    },
)

__all__ = ["Engine", "Form", "Plan", "VerifiedRelease", "export", "make_release"]
