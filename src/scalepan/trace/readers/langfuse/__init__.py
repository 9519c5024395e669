"""Langfuse: what its export and its API write."""

from scalepan.trace.readers.langfuse.reader import READER

__all__ = ["READER"]
