"""One store that many processes use: operations on claims, votes, decisions and numbers, whatever the engine."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.repeat import same_request
    from scalepan.store.duckdb.store import Store
    from scalepan.store.here import Here
    from scalepan.store.operation import Operation, changes, commits, operation, reads
    from scalepan.store.paths import find_store

__all__ = ["Here", "Operation", "Store", "changes", "commits", "find_store", "operation", "reads", "same_request"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.repeat": ["same_request"],
        "scalepan.store.duckdb.store": ["Store"],
        "scalepan.store.here": ["Here"],
        "scalepan.store.operation": ["Operation", "changes", "commits", "operation", "reads"],
        "scalepan.store.paths": ["find_store"],
    },
)
