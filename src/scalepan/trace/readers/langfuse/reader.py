"""Langfuse: observations of the blob export (JSON, CSV, Parquet) and of the API, and traces with their observations.

One trace id is one trace. A GENERATION is a thought and its tool calls; TOOL and RETRIEVER are calls and their
observations, and the level ERROR is a failure. All other types only hold these together and are counted. A score says
whether the agent succeeded only if it is a yes or no with that name; no other number becomes success.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.langfuse.fields import snake_case
from scalepan.trace.readers.langfuse.scores import ScoredSuccess, judge, scores_beside, verdict_of
from scalepan.trace.readers.lenient import first_text, mapping, objects, parsed, text
from scalepan.trace.readers.runs.export import Export, ExportKeys, Row, listed_rows, named_text, read_export
from scalepan.trace.readers.runs.payload import call_id_of
from scalepan.trace.readers.runs.run import LoggedRun, amount_of, count_of, utc_time
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine
from scalepan.trace.readers.table import Reader, SeenRecords

TYPES = frozenset(
    (
        *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER"),
        *("EVALUATOR", "EMBEDDING", "GUARDRAIL"),
    )
)
_COLUMNS = frozenset(("id", "trace_id", "type", "start_time", "parent_observation_id"))
_KINDS: dict[str, Any] = {"GENERATION": "model", "TOOL": "tool", "RETRIEVER": "tool"}


def _runs(row: Row) -> list[LoggedRun]:
    """The observation of a row, or a trace and its observations."""
    if not isinstance(row.get("observations"), list):
        return [_run(snake_case(row))]
    trace = snake_case(row)
    id_ = text(trace.get("id")) or "unknown"
    inputs, outputs = (parsed(trace.get(key)) for key in ("input", "output"))
    root = LoggedRun(id_, "other", "", at=utc_time(trace.get("timestamp")), inputs=inputs, outputs=outputs)
    observations = [_run(snake_case(one)) for one in objects(row["observations"])]
    inside = [run if run.parent is not None else run._replace(parent=id_) for run in observations]
    return [root, *inside]


def _run(row: Row) -> LoggedRun:
    label = text(row.get("type")) or "unknown"
    inputs, outputs, metadata = (parsed(row.get(key) or None) for key in ("input", "output", "metadata"))
    at, failed = utc_time(row.get("start_time")), row.get("level") == "ERROR"
    usage = mapping(parsed(row.get("usage_details")) or row.get("usage"))
    if outputs is None and (calls := [parsed(call) for call in _listed(row.get("tool_calls"))]):
        outputs = {"role": "assistant", "content": None, "tool_calls": calls}
    return LoggedRun(
        text(row.get("id")) or "unknown",
        _KINDS.get(label, "other"),
        label,
        parent=text(row.get("parent_observation_id")),
        name=text(row.get("name")),
        order=(at or "",),
        at=at,
        inputs=inputs,
        outputs=outputs,
        error=text(row.get("status_message")) if failed else None,
        failed=True if failed else None,
        call_id=call_id_of(metadata, outputs),
        model=named_text(row, "provided_model_name", "model"),
        input_tokens=_tokens(usage, "input", "prompt"),
        output_tokens=_tokens(usage, "output", "completion"),
        cost_usd=amount_of(row.get("total_cost") or row.get("calculated_total_cost")),
    )


def _tokens(usage: Row, *starts: str) -> int | None:
    """All tokens of one direction: cached and thought ones are counted apart, not again.

    >>> _tokens({"input": 10, "input_cached_tokens": 5, "output": 2}, "input", "prompt")
    15
    """
    counts = [
        count for key, value in usage.items() if key.startswith(starts) and (count := count_of(value)) is not None
    ]
    return sum(counts) if counts else None


def _listed(value: Any) -> list[Any]:
    found = parsed(value)
    return found if isinstance(found, list) else []


def _describe(beside: dict[str, list[ScoredSuccess]], rows: list[Row], builder: TraceBuilder) -> None:
    verdicts: list[ScoredSuccess] = []
    for row in map(snake_case, rows):
        builder.session = builder.session or named_text(row, "session_id")
        builder.project = builder.project or named_text(row, "project_id")
        verdicts += filter(None, map(verdict_of, objects(row.get("scores"))))
        verdicts = verdicts or beside.get(text(row.get("trace_id")) or "", [])
    judge(verdicts, builder)


def _trace_of(keys: ExportKeys) -> str | None:
    # A trace with its observations has only its own id.
    return first_text(keys.trace_id, keys.trace_id_, keys.id)


def _is_langfuse(row: Row) -> bool:
    observations = objects(row.get("observations"))
    if observations:
        return _is_langfuse(observations[0] | {"observations": None})
    type_ = row.get("type")
    if not isinstance(type_, str) or type_ not in TYPES:
        return False
    return ("trace_id" in row and "start_time" in row) or ("traceId" in row and "startTime" in row)


def _sniff(head: Head) -> bool:
    # The first row of CSV may be longer than the head of the file.
    columns = snake_case(dict.fromkeys(head.columns or ()))
    if columns.keys() >= _COLUMNS:
        return True
    return any(_is_langfuse(row) for record in head.records[:8] for row in listed_rows(record)[:4])


def read_langfuse(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of an export."""
    describe = partial(_describe, scores_beside(source.path))
    return read_export(Export("langfuse", _trace_of, _runs, describe), source, seen)


READER = Reader("langfuse", "Langfuse: blob export and API", _sniff, read_langfuse)
