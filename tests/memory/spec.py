"""Asking a memory, and reading what came of it: the answer, its score, its events."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scalepan.memory import Memory
from scalepan.memory.recall.answers import Recall, Recalled
from scalepan.store.policies import SetPolicy
from tests.memory.conftest import DAY, START, StandIn

QUERY = "q"
GRAMMAR = re.compile(
    r"(?:(?:FTS|ILIKE)=rank:\d+; )?(?:cos=-?\d\.\d\d; )?recent=\d+d; util=[01]\.\d\d; conf=[01]\.\d\d"
    r"(?:; below_threshold)?"
)


def retrieval(**said: Any) -> dict[str, Any]:
    return {"policy": {"retrieval": said}}


def stamp(days_ago: float) -> str:
    return datetime.fromtimestamp(START - days_ago * DAY, UTC).isoformat()


def events(memory: Memory, topic: str) -> list[dict[str, Any]]:
    # An event about a search is written after its answer; whoever gets the writer's turn now comes behind it.
    memory.store.call("store.set_policy", SetPolicy("", "nobody"))
    rows = memory.store.sql(
        "SELECT request_id, trace_id, payload FROM events "
        f"WHERE topic = '{topic}' AND tenant = '{memory.who.tenant}' ORDER BY ts, rowid"
    )
    return [{"request_id": request, "trace_id": trace, **json.loads(payload)} for request, trace, payload in rows]


def only(answer: Recall) -> Recalled:
    (one,) = answer.claims
    return one


def number(one: Recalled) -> float:
    return float(one.score_final)


def near(encoder: StandIn, cosines: Mapping[str, float]) -> None:
    """Teach how near texts are to the query."""
    encoder.taught[QUERY] = [1.0]
    for text, sim in cosines.items():
        encoder.cosine(text, sim)
