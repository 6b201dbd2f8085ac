"""Reading tables and registries, and preparing them for a release."""

from serigraph.tables.preparing import Prepared, prepare
from serigraph.tables.protection import ProtectedChoice
from serigraph.tables.reading import read_table
from serigraph.tables.taxonomies import read_taxonomy

__all__ = ["Prepared", "ProtectedChoice", "prepare", "read_table", "read_taxonomy"]
