"""Engines: the same algorithm on one machine or on many."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.engines.choosing import engine_for, export
    from serigraph.engines.interface import (
        Engine,
        Form,
        Known,
        Measure,
        PeopleFacts,
        Plan,
        VerifiedRelease,
    )
    from serigraph.engines.local import make_release
    from serigraph.engines.one_machine import Local
    from serigraph.engines.spark.engine import Spark

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "Engine": "serigraph.engines.interface",
        "Form": "serigraph.engines.interface",
        "Known": "serigraph.engines.interface",
        "Local": "serigraph.engines.one_machine",
        "Measure": "serigraph.engines.interface",
        "PeopleFacts": "serigraph.engines.interface",
        "Plan": "serigraph.engines.interface",
        "Spark": "serigraph.engines.spark.engine",
        "VerifiedRelease": "serigraph.engines.interface",
        "engine_for": "serigraph.engines.choosing",
        "export": "serigraph.engines.choosing",
        "make_release": "serigraph.engines.local",
    },
)

__all__ = [
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
