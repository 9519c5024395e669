"""LangSmith: runs as the API, the SDK and the bulk export write them, as JSON or Parquet.

One trace id is one trace. A run of the type `llm` is a thought and its tool calls; `tool` and `retriever` runs are
calls and their observations, and an `error` of theirs is a failure. Chains and all other runs only hold these together
and are counted. Feedback is a number that somebody gave: it is not success.
"""

from collections.abc import Iterator
from typing import Any

from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.lenient import first_text, items, mapping, objects, parsed, text
from scalepan.trace.readers.runs.export import Export, ExportKeys, Row, inner, listed_rows, named_text, read_export
from scalepan.trace.readers.runs.payload import call_id_of
from scalepan.trace.readers.runs.run import LoggedRun, amount_of, count_of, utc_time
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine
from scalepan.trace.readers.table import Reader, SeenRecords

_KINDS: dict[str, Any] = {"llm": "model", "chat_model": "model", "tool": "tool", "retriever": "tool"}
_FAILED = {"error": True, "success": False}
_THREADS = ("thread_id", "session_id", "conversation_id")


def _runs(row: Row) -> list[LoggedRun]:
    """A run and those inside it, which the SDK can load with it."""
    found = []
    waiting = [row]
    while waiting:
        one = waiting.pop()
        found.append(_run(one))
        waiting += objects(one.get("child_runs"))
    return found


def _run(row: Row) -> LoggedRun:
    inputs, outputs, extra = (parsed(row.get(key)) for key in ("inputs", "outputs", "extra"))
    metadata = inner(mapping(extra), "metadata") or parsed(row.get("metadata"))
    order, label = text(row.get("dotted_order")), text(row.get("run_type")) or "unknown"
    at, error = utc_time(row.get("start_time")), text(row.get("error"))
    kind = _KINDS.get(label, "other")
    read, wrote = _tokens(row, mapping(metadata), mapping(outputs)) if kind == "model" else (None, None)
    return LoggedRun(
        first_text(row.get("id"), order) or "unknown",
        kind,
        label,
        parent=_parent(row, order),
        name=text(row.get("name")),
        order=(order or at or "",),
        at=at,
        inputs=inputs,
        outputs=outputs,
        error=error,
        failed=True if error is not None else _FAILED.get(text(row.get("status")) or ""),
        call_id=call_id_of(extra, metadata, inputs, outputs),
        model=named_text(mapping(metadata), "ls_model_name") or _model(mapping(extra)),
        input_tokens=read,
        output_tokens=wrote,
        cost_usd=amount_of(row.get("total_cost")),
    )


def _parent(row: Row, order: str | None) -> str | None:
    """Stated, the last of all that are above it, or the part before its own in the dotted order."""
    above = [one for one in items(row.get("parent_run_ids")) if isinstance(one, str)]
    ordered = order.split(".") if order else []
    dotted = ordered[-2].partition("Z")[2] if len(ordered) > 1 else None
    return first_text(row.get("parent_run_id"), dotted, above[-1] if above else None)


def _model(extra: Row) -> str | None:
    return named_text(mapping(extra.get("invocation_params")), "model", "model_name")


def _tokens(row: Row, metadata: Row, outputs: Row) -> tuple[int | None, int | None]:
    """What LangSmith counted, else what the client did."""
    generations = items(outputs.get("generations"))
    first = next(iter(objects(generations[0] if generations and isinstance(generations[0], list) else generations)), {})
    message = mapping(first.get("message"))
    places = [
        row,
        mapping(metadata.get("usage_metadata")),
        mapping(outputs.get("usage_metadata")),
        mapping(inner(message, "kwargs", "usage_metadata") or message.get("usage_metadata")),
        mapping(inner(outputs, "llm_output", "token_usage")),
        mapping(outputs.get("usage")),
    ]
    return _stated(places, "prompt_tokens", "input_tokens"), _stated(places, "completion_tokens", "output_tokens")


def _stated(places: list[Row], *keys: str) -> int | None:
    counts = (count_of(place.get(key)) for place in places for key in keys)
    # The API has 0 where nothing was counted.
    return next((count for count in counts if count), None)


def _describe(rows: list[Row], builder: TraceBuilder) -> None:
    for row in rows:
        metadata = inner(mapping(parsed(row.get("extra"))), "metadata")
        builder.session = builder.session or named_text(mapping(metadata), *_THREADS)
        builder.project = builder.project or named_text(row, "session_name", "session_id")
        if _parent(row, text(row.get("dotted_order"))) is None:
            builder.ended = text(row.get("status")) or ("error" if text(row.get("error")) else None)


def _trace_of(keys: ExportKeys) -> str | None:
    order = text(keys.dotted_order)
    dotted = order.split(".")[0].partition("Z")[2] if order else None
    return first_text(keys.trace_id, dotted, keys.id)


def _sniff(head: Head) -> bool:
    rows = [row for record in head.records[:4] for row in listed_rows(record)[:4]]
    return any("run_type" in row and ("trace_id" in row or "dotted_order" in row or "inputs" in row) for row in rows)


_EXPORT = Export("langsmith", _trace_of, _runs, _describe)


def read_langsmith(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of an export."""
    return read_export(_EXPORT, source, seen)


READER = Reader("langsmith", "LangSmith: runs from the API or a bulk export", _sniff, read_langsmith)
