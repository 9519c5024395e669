"""Names of fields: the blob export writes `trace_id`, the API writes `traceId`."""

import re
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its fields as the blob export spells them.

    >>> snake_case({"parentObservationId": "a"})
    {'parent_observation_id': 'a'}
    """
    return {_HUMP.sub("_", key).lower(): value for key, value in row.items()}
