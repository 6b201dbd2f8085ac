"""Engines: the same algorithm on one machine or on many."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.engines.choosing import Local, Spark, engine_for, export
    from serigraph.engines.interface import (
        CohortTerms,
        Engine,
        Form,
        Known,
        Measure,
        PeopleFacts,
        Plan,
        VerifiedRelease,
    )
    from serigraph.engines.local import make_release

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "CohortTerms": "serigraph.engines.interface",
        "Engine": "serigraph.engines.interface",
        "Form": "serigraph.engines.interface",
        "Known": "serigraph.engines.interface",
        "Local": "serigraph.engines.choosing",
        "Measure": "serigraph.engines.interface",
        "PeopleFacts": "serigraph.engines.interface",
        "Plan": "serigraph.engines.interface",
        "Spark": "serigraph.engines.choosing",
        "VerifiedRelease": "serigraph.engines.interface",
        "engine_for": "serigraph.engines.choosing",
        "export": "serigraph.engines.choosing",
        "make_release": "serigraph.engines.local",
    },
)

__all__ = [
    "CohortTerms",
    "Engine",
    "Form",
    "Known",
    "Local",
    "Measure",
    "PeopleFacts",
    "Plan",
    "Spark",
    "VerifiedRelease",
    "engine_for",
    "export",
    "make_release",
]
