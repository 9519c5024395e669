"""Ids that the store makes."""

from uuid import uuid4

FORGOTTEN = "forgotten"
"""Stands in an event where the id of a claim stood that was forgotten."""


def new_id(prefix: str) -> str:
    """A short random id: `evt_9f2c…`."""
    return f"{prefix}_{uuid4().hex[:20]}"
