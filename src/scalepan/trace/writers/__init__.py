"""A trace in a format that other tools read."""

from scalepan.trace.writers.atif import to_atif

__all__ = ["to_atif"]
