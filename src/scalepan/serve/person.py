"""Asking a person through an MCP client: as a request of its own, or, from 2026-07-28 on, by the answer to the call."""

import anyio
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from scalepan.check import resolved
from scalepan.serve.decisions import Said
from scalepan.serve.fence import clean

BY_ANSWER_SINCE = "2026-07-28"
KEY = "approve"
FORM: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Allow it", "description": "Whether the agent may do this."},
        "why": {"type": "string", "title": "Why", "description": "Kept with the decision."},
    },
    "required": ["approve"],
}


class _State(msgspec.Struct, forbid_unknown_fields=True):
    decision: str


resolved(_State)


def can_be_asked(ctx: ServerRequestContext) -> bool:
    """Whether the client can show a form. `elicitation: {}` is from before there were other ways than forms."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def is_asked_by_answer(ctx: ServerRequestContext) -> bool:
    """Whether the client is asked by the answer to its call, and calls again with what the person said."""
    return is_version_at_least(ctx.protocol_version, BY_ANSWER_SINCE)


def input_required(question: str, decision: str) -> types.InputRequiredResult:
    """The answer that asks; the SDK seals what the client is to bring back."""
    form = types.ElicitRequest(params=types.ElicitRequestFormParams(message=question, requested_schema=FORM))
    state = msgspec.json.encode(_State(decision)).decode()
    return types.InputRequiredResult(input_requests={KEY: form}, request_state=state)


def decision_of(params: types.CallToolRequestParams) -> str | None:
    """The decision that a client comes back about."""
    if params.request_state is None:
        return None
    return msgspec.json.decode(params.request_state, type=_State).decision


def brought_back(params: types.CallToolRequestParams) -> Said | None:
    """What the person said, if the client brought it."""
    answer = (params.input_responses or {}).get(KEY)
    return said(answer) if isinstance(answer, types.ElicitResult) else None


async def ask(ctx: ServerRequestContext, question: str, seconds: float) -> Said | None:
    """Ask now, and wait; None where the person only closed the form, or the client could not show it."""
    try:
        with anyio.fail_after(seconds):
            return said(await ctx.session.elicit_form(question, FORM, related_request_id=ctx.request_id))
    except TimeoutError:
        return Said(False, expire=True)
    except (MCPError, ValueError):  # ValueError: what came back is no answer
        return None


def said(answer: types.ElicitResult) -> Said | None:
    """Yes only where it says yes. A form that was closed is no answer: the question goes on waiting.

    >>> said(types.ElicitResult(action="accept", content={"approve": True})).approve
    True
    """
    if answer.action == "cancel":
        return None
    content = answer.content or {}
    why = content.get("why")
    approve = answer.action == "accept" and content.get("approve") is True
    return Said(approve, clean(why) if isinstance(why, str) and why else None)
