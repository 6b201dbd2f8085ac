"""Reading tables and registries, and preparing them for a release."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.tables.hierarchies import BuiltTaxonomy, build_taxonomy
    from serigraph.tables.preparing import Prepared, prepare
    from serigraph.tables.protection import ProtectedChoice
    from serigraph.tables.reading import read_table
    from serigraph.tables.taxonomies import read_taxonomy

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "BuiltTaxonomy": "serigraph.tables.hierarchies",
        "build_taxonomy": "serigraph.tables.hierarchies",
        "Prepared": "serigraph.tables.preparing",
        "ProtectedChoice": "serigraph.tables.protection",
        "prepare": "serigraph.tables.preparing",
        "read_table": "serigraph.tables.reading",
        "read_taxonomy": "serigraph.tables.taxonomies",
    },
)

__all__ = [
    "BuiltTaxonomy",
    "Prepared",
    "ProtectedChoice",
    "build_taxonomy",
    "prepare",
    "read_table",
    "read_taxonomy",
]
