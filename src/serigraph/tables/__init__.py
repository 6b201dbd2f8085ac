"""Reading tables and registries, and preparing them for a release."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.tables.preparing import Prepared, prepare
    from serigraph.tables.protection import ProtectedChoice
    from serigraph.tables.reading import read_table
    from serigraph.tables.taxonomies import read_taxonomy

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "Prepared": "serigraph.tables.preparing",
        "ProtectedChoice": "serigraph.tables.protection",
        "prepare": "serigraph.tables.preparing",
        "read_table": "serigraph.tables.reading",
        "read_taxonomy": "serigraph.tables.taxonomies",
    },
)

__all__ = ["Prepared", "ProtectedChoice", "prepare", "read_table", "read_taxonomy"]
