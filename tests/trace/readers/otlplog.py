"""Spans and log records of OTLP, written briefly: times are seconds after START, ids are short names."""

from typing import Any

import msgspec

Json = dict[str, Any]
START = 1_769_860_800
"""2026-01-31T12:00:00Z"""
TRACE = "0af7651916cd43dd8448eb211c80319c"
ERROR, OK = {"code": 2}, {"code": 1}


def id_of(name: str, length: int = 16) -> str:
    """A hex id for a short name."""
    return name.encode().hex().rjust(length, "0")


def value(plain: Any) -> Json:
    """An AnyValue."""
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case float():
            return {"doubleValue": plain}
        case str():
            return {"stringValue": plain}
        case list():
            return {"arrayValue": {"values": [value(one) for one in plain]}}
        case dict():
            return {"kvlistValue": {"values": pairs(plain)}}
    return {}


def pairs(attributes: Json) -> list[Json]:
    """Attributes as OTLP has them."""
    return [{"key": key, "value": value(one)} for key, one in attributes.items()]


def nanos(seconds: float) -> str:
    """A time as OTLP JSON has it."""
    return str(int((START + seconds) * 1_000_000_000))


def span(
    name: str,
    at: tuple[float, float],
    attributes: Json,
    *,
    inside: str | None = None,
    trace: str = TRACE,
    **more: Any,
) -> Json:
    """A span whose id is made of its name."""
    parent = {"parentSpanId": id_of(inside)} if inside else {}
    times = {"startTimeUnixNano": nanos(at[0]), "endTimeUnixNano": nanos(at[1])}
    ids = {"traceId": trace, "spanId": id_of(name)} | parent
    return ids | {"name": name, "kind": 1} | times | {"attributes": pairs(attributes)} | more


def event(name: str, at: float, attributes: Json) -> Json:
    """An event of a span."""
    return {"name": name, "timeUnixNano": nanos(at), "attributes": pairs(attributes)}


def record(name: str, of: str, at: float, body: Any = None, attributes: Json | None = None, trace: str = TRACE) -> Json:
    """A log record."""
    ids = {"traceId": trace, "spanId": id_of(of), "observedTimeUnixNano": nanos(at)}
    return ids | {"eventName": name, "body": value(body), "attributes": pairs(attributes or {})}


def spans(*sent: Json, scope: str = "opentelemetry.instrumentation.openai_v2", service: str = "shop") -> Json:
    """An ExportTraceServiceRequest."""
    resource = {"attributes": pairs({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": list(sent)}]}]}


def logs(*sent: Json) -> Json:
    """An ExportLogsServiceRequest."""
    return {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": list(sent)}]}]}


def text(content: str) -> Json:
    return {"type": "text", "content": content}


def thought(content: str) -> Json:
    return {"type": "reasoning", "content": content}


def call(id_: str | None, name: str, **arguments: Any) -> Json:
    return {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}


def response(id_: str | None, result: Any) -> Json:
    return {"type": "tool_call_response", "id": id_, "response": result}


def message(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


def chat(history: list[Json] | None = None, answer: list[Json] | None = None, **more: Any) -> Json:
    """Attributes of a call of a model by the current conventions; messages are JSON in a string."""
    stated: Json = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large-2"}
    for name, said in (("input", history), ("output", answer)):
        if said is not None:
            stated[f"gen_ai.{name}.messages"] = msgspec.json.encode(said).decode()
    return stated | {key.replace("__", "."): one for key, one in more.items()}


def tool(name: str, id_: str | None = None, arguments: Any = None, result: Any = None, **more: Any) -> Json:
    """Attributes of a call of a tool."""
    stated = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id_,
        "gen_ai.tool.call.arguments": arguments if arguments is None else msgspec.json.encode(arguments).decode(),
        "gen_ai.tool.call.result": result,
    }
    known = {key: one for key, one in stated.items() if one is not None}
    return known | {key.replace("__", "."): one for key, one in more.items()}


def agent(name: str | None = None, **more: Any) -> Json:
    """Attributes of an agent."""
    named = {"gen_ai.agent.name": name} if name else {}
    return (
        {"gen_ai.operation.name": "invoke_agent"} | named | {key.replace("__", "."): one for key, one in more.items()}
    )
