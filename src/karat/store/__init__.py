"""One DuckDB file that many processes use: the first one owns it, the others send it their calls."""

from karat.store.here import Here
from karat.store.operations import Operation, operation, reads, writes
from karat.store.paths import find_store
from karat.store.store import Store

__all__ = ["Here", "Operation", "Store", "find_store", "operation", "reads", "writes"]
