"""Agent Trajectory Interchange Format (ATIF) 1.0 to 1.8: one trajectory per document, or per line."""

from scalepan.trace.readers.atif.document import READER

__all__ = ["READER"]
