"""One DuckDB file that many processes use: the first one owns it, the others send it their calls."""

from scalepan.repeat import same_request
from scalepan.store.duckdb.store import Store
from scalepan.store.here import Here
from scalepan.store.operations import Operation, operation, reads, writes
from scalepan.store.paths import find_store

__all__ = ["Here", "Operation", "Store", "find_store", "operation", "reads", "same_request", "writes"]
