"""Memory's operations, by name. Whoever owns a store loads this when the first call for memory arrives."""

from scalepan.memory import browse, calibrate, contradictions
from scalepan.memory.ingest import add, change, forget, orphans, rescan
from scalepan.memory.recall import activate, agree
from scalepan.memory.standing import votes

__all__ = [
    "activate",
    "add",
    "agree",
    "browse",
    "calibrate",
    "change",
    "contradictions",
    "forget",
    "orphans",
    "rescan",
    "votes",
]
