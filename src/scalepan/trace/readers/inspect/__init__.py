"""Logs of Inspect evaluations: `.eval` archives and the JSON form. One sample in one epoch is one trace."""

from scalepan.trace.readers.inspect.logs import READER

__all__ = ["READER"]
