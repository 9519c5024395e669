"""Is an answer brief? A scorer of your own; 'scalepan eval run --scorers-from scorers.py' loads it."""

import scalepan
from scalepan.evals import Expected, Output

LONGEST = 200


@scalepan.scorer("brief", threshold=0.5)
def brief(actual: Output, expected: Expected) -> float:  # noqa: ARG001 - every scorer is given both
    """1.0 for an empty answer, 0.5 at the longest that is still brief, 0.0 at twice that."""
    return max(0.0, 1.0 - len(str(actual.output)) / (2 * LONGEST))
