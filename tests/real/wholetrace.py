"""A trace with everything in it, as data and as text."""

import json
from typing import Any

Trace = dict[str, Any]

TYPES = ["thought", "tool_call", "observation", "error_recovery"]

WHOLE: Trace = {
    "@context": "https://openknowledgepulse.org/schema/v1",
    "@type": "ReasoningTrace",
    "id": "kp:trace:whole",
    "source_skill": "assay",
    "metadata": {
        "created_at": "2026-03-01T09:00:00Z",
        "agent_id": "agent-1",
        "framework": "own",
        "task_domain": "finance",
        "success": True,
        "quality_score": 0.5,
        "visibility": "network",
        "privacy_level": "aggregated",
        "validated_by": ["kp:agent:2"],
        "note": "an unknown key",
    },
    "task": {"objective": "金の純度を量る", "input_schema": {"type": "object"}},
    "steps": [
        {"step_id": 0, "type": "thought", "content": "Which scale?"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "scale", "mcp_server": "lab"}, "input": {"g": [1, 2.5]}},
        {"step_id": 2, "type": "error_recovery", "content": "Empty it first", "latency_ms": 12.5},
        {"step_id": 3, "type": "tool_call", "tool": {"name": "acid"}, "output_summary": "22 scalepan"},
    ],
    "outcome": {"result_summary": "22 scalepan", "confidence": 0.9},
    "knowledge_graph_delta": {"entities": [{"id": "gold"}], "relationships": []},
}
TEXT = json.dumps(WHOLE)
