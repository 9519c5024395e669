"""The time of day, in one place, so that a test can set it."""

from time import time

__all__ = ["time"]
