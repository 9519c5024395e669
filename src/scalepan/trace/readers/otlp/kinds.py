"""What a span stands for: a call of a model, a call of a tool, an agent, a workflow around them, or something else."""

from enum import Enum
from typing import Any

from scalepan.trace.readers.lenient import first_text, text


class SpanKind(Enum):
    """What matters for a trace."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    WORKFLOW = "workflow"
    OTHER = "other"
    """GenAI, but no step: embeddings, retrieval, memory and so on."""
    PLAIN = "plain"
    """Not GenAI: only its place in the tree counts."""


_OPERATIONS = {
    "chat": SpanKind.MODEL,
    "generate_content": SpanKind.MODEL,
    "text_completion": SpanKind.MODEL,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.WORKFLOW,
}
_OPENINFERENCE = {
    "LLM": SpanKind.MODEL,
    "TOOL": SpanKind.TOOL,
    "AGENT": SpanKind.AGENT,
    "CHAIN": SpanKind.WORKFLOW,
}


def kind_of(attributes: dict[str, Any]) -> SpanKind:
    """The kind of a span with these attributes."""
    operation, kind = operation_of(attributes), text(attributes.get("openinference.span.kind"))
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if kind is not None:
        return _OPENINFERENCE.get(kind.upper(), SpanKind.OTHER)
    if operation is not None:
        return SpanKind.OTHER
    # A part of a call, such as its execution after a person allowed it.
    if text(attributes.get("gen_ai.tool.call.id")):
        return SpanKind.TOOL
    # Before operations had names.
    if first_text(attributes.get("gen_ai.system"), attributes.get("gen_ai.provider.name")):
        return SpanKind.MODEL if text(attributes.get("gen_ai.request.model")) else SpanKind.OTHER
    return SpanKind.PLAIN


def operation_of(attributes: dict[str, Any]) -> str | None:
    """The operation that a span names."""
    return text(attributes.get("gen_ai.operation.name"))


def unmapped_name(attributes: dict[str, Any]) -> str:
    """What a span of another kind is counted as."""
    kind = text(attributes.get("openinference.span.kind"))
    named = operation_of(attributes) or (kind.lower() if kind else None) or "GenAI"
    return f"{named[:60]} span"


def agent_name(attributes: dict[str, Any]) -> str | None:
    """The agent that a span names."""
    return first_text(
        attributes.get("gen_ai.agent.id"), attributes.get("gen_ai.agent.name"), attributes.get("agent.name")
    )


def conversation_of(attributes: dict[str, Any]) -> str | None:
    """The conversation that a span names."""
    return first_text(attributes.get("gen_ai.conversation.id"), attributes.get("session.id"))
