"""JSON Schemas of golden cases and outputs, for editors."""

from functools import lru_cache
from typing import Any

from scalepan.check import json_schema
from scalepan.evals.cases import Case, Output


@lru_cache(maxsize=1)
def cases_schema() -> dict[str, Any]:
    """A YAML list of cases; a JSONL file has one of its items a line."""
    document = json_schema(list[Case])
    scorers = document["$defs"]["Case"]["properties"]["scorers"]
    (listed,) = (option for option in scorers["anyOf"] if option.get("type") == "array")
    listed["items"] = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"type": "string", "description": "the name of a registered scorer"},
            "weight": {"type": "number", "minimum": 0, "default": 1},
            "threshold": {"type": "number", "minimum": 0, "maximum": 1},
        },
    }
    document["title"] = "Scalepan golden cases"
    return document


@lru_cache(maxsize=1)
def outputs_schema() -> dict[str, Any]:
    """One line of an outputs file."""
    return {**json_schema(Output), "title": "Scalepan output"}
