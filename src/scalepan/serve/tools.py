"""The tools as a table: name, request, answer, what it does to the world, and a description with an example."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from scalepan.check import json_schema, problems, resolved
from scalepan.doors import answer_of_tool, part, request_of_tool
from scalepan.errors import InputError, NotFoundError, did_you_mean, shorten
from scalepan.memory.claim import NewClaim, Provenance
from scalepan.memory.requests import ACTIVATE, ADD, FORGET, SEARCH, VOTE, Added, Ask, Forget, Forgotten, Vote, Voted
from scalepan.serve import answers, confidences, judging, recalls, requests
from scalepan.serve.envelope import Caller, Envelope
from scalepan.serve.service import Service

ACTIVATE_SECONDS, SEARCH_SECONDS, OTHER_SECONDS = 15.0, 10.0, 30.0
"""How long a call may take: for the first two see contract memory.54."""


class AgentTool(NamedTuple):
    """One tool, for any door."""

    name: str
    title: str
    description: str
    request: type[msgspec.Struct]
    answer: type[Envelope]
    run: Callable[[Service, Any, Caller], Envelope] | None
    """None: the transport handles it, because it may have to ask a person."""
    seconds: float = OTHER_SECONDS
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = False
    dotted: str = ""
    """Its name with dots (contract memory.49)."""
    path: str = ""
    """Where it stands under /v1; by default its name."""
    instant: bool = False
    """CPU only and fast: runs on the event loop, not in a thread."""
    keyed: bool = False
    """Writes to the store: under a key, sent again, it is applied once."""
    many: Callable[[Service, Sequence[Any], Sequence[Caller]], Sequence[Envelope | Exception]] | None = None
    """Many at once, where that is quicker than one by one; an error stands in the place of its answer."""

    @property
    def url(self) -> str:
        """Its address on a server."""
        return f"/v1/{self.path or self.name}"


BREAKDOWN = [("breakdown", Annotated[bool, Meta(description="Also return how each score came about.")], False)]
_Added, _Voted, _Forgotten = (answer_of_tool(response, Envelope) for response in (Added, Voted, Forgotten))

TOOLS = (
    AgentTool(
        "pce_memory_activate",
        "Recall for a task",
        "Recall what is worth knowing for a task, and keep it as an active context for a day. Only claims that reach "
        "the threshold come back. Call it once when a task begins; name its active_context_id when you vote.\n"
        'Example: {"query": "prepare the release of billing", "max_tokens": 1000}',
        request_of_tool(ACTIVATE.name, Ask, more=BREAKDOWN),
        answers.RecallAnswer,
        recalls.recalls(ACTIVATE),
        ACTIVATE_SECONDS,
        read_only=False,
        dotted="pce.memory.activate",
        path="memory/activate",
        keyed=True,
    ),
    AgentTool(
        "pce_memory_search",
        "Search memory",
        "The best claims for a query, best first; those below the threshold are flagged. Nothing is kept.\n"
        'Example: {"query": "how is a plan cancelled?", "k": 5, "breakdown": true}',
        request_of_tool(SEARCH.name, Ask, more=BREAKDOWN),
        answers.RecallAnswer,
        recalls.recalls(SEARCH),
        SEARCH_SECONDS,
        idempotent=True,
        dotted="pce.memory.search",
        path="memory/search",
    ),
    AgentTool(
        "memory_add",
        "Remember",
        "Remember one statement. Secrets and personal data are removed first; duplicates are not stored twice.\n"
        'Example: {"text": "The staging database is reset every Monday", "kind": "fact", '
        '"entities": [{"name": "staging", "type": "Artifact"}]}',
        request_of_tool(ADD.name, NewClaim, more=part(Provenance, "source", "note")),
        _Added,
        recalls.adds(_Added),
        read_only=False,
        idempotent=True,
        path="memory/add",
        keyed=True,
    ),
    AgentTool(
        "memory_vote",
        "Say what a claim was worth",
        "After a recalled claim was used: was it helpful, harmful, outdated or a duplicate? Later recalls follow it.\n"
        'Example: {"claim": "clm_1f…", "signal": "helpful", "context": "ac_9x…"}',
        request_of_tool(VOTE.name, Vote),
        _Voted,
        recalls.does(VOTE, _Voted),
        read_only=False,
        path="memory/vote",
        keyed=True,
    ),
    AgentTool(
        "memory_forget",
        "Forget claims",
        "Forget claims for good, with everything derived from them. This cannot be undone: do it only if the person "
        'asked for it.\nExample: {"claims": ["clm_1f…"]}',
        request_of_tool(FORGET.name, Forget),
        _Forgotten,
        recalls.does(FORGET, _Forgotten),
        read_only=False,
        destructive=True,
        path="memory/forget",
        keyed=True,
    ),
    AgentTool(
        "trace_value",
        "What a trace is worth",
        "What a reasoning trace is worth keeping for, 0 to 1, and whether to share it. Nothing is stored; but later "
        "traces of this session are compared with it, unless remember is false.\n"
        'Example: {"trace": {"@context": "https://openknowledgepulse.org/schema/v1", "@type": "ReasoningTrace", '
        '"id": "kp:trace:1", "metadata": {"created_at": "2026-01-31T12:00:00Z", "task_domain": "code", '
        '"success": true, "quality_score": 0, "visibility": "private", "privacy_level": "private"}, '
        '"task": {"objective": "Rename a column"}, "steps": [{"step_id": 0, "type": "thought", '
        '"content": "Two tables use it"}], "outcome": {"result_summary": "Renamed", "confidence": 0.9}}}',
        requests.TraceValue,
        answers.ValueAnswer,
        judging.trace_value,
        read_only=False,
        path="trace/value",
    ),
    AgentTool(
        "output_score",
        "Is an output right?",
        "Judge an output against a golden case: passed or not, and what each scorer says.\n"
        'Example: {"case": {"id": "text-exact-001", "expected": {"output": "42"}, "scorers": [{"type": "exact"}]}, '
        '"output": {"output": "42"}}',
        requests.OutputScore,
        answers.OutputAnswer,
        judging.output_score,
        idempotent=True,
        path="output/score",
    ),
    AgentTool(
        "confidence_score",
        "How sure to be",
        "How sure you may be of a step, from what was searched, found and called; and what that calls for. Nothing is "
        "stored and nobody is asked: decide does that.\n"
        'Example: {"factors": {"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}}',
        requests.ConfidenceRequest,
        answers.ConfidenceAnswer,
        judging.confidence_score,
        idempotent=True,
        path="confidence",
        instant=True,
        many=confidences.score_all,
    ),
    AgentTool(
        "decide",
        "May this be done?",
        "Before an action that matters: go on, or ask? A person is asked where confidence is low. Do the action only "
        "if the answer has allowed = true; otherwise put its question to the person.\n"
        'Example: {"action": "refund", "args": {"order": 17, "amount": 250}, "factors": {"search_result_count": 1, '
        '"search_max_score": 0.5, "source_count": 1}}\n'
        'To see what came of an earlier question: {"decision": "dec_1f…"}',
        requests.Decide,
        answers.Decision,
        None,
        read_only=False,
        keyed=True,
    ),
    AgentTool(
        "explain",
        "Is a number still true?",
        "Any number that was kept, by its id: how it came about, made again from what was kept with it, and equal or "
        "what changed. Nothing is stored.\n"
        'Example: {"id": "dec_1f…", "breakdown": true}',
        requests.ExplainRequest,
        answers.ExplainAnswer,
        judging.explain,
        idempotent=True,
    ),
)
resolved(*(tool.request for tool in TOOLS))
_BY_NAME = {tool.name: tool for tool in TOOLS}


def tool(name: str) -> AgentTool:
    """The tool of that name, in either spelling.

    >>> tool("pce.memory.search") is tool("pce_memory_search")
    True
    """
    found = _BY_NAME.get(name.replace(".", "_"))
    if found is None:
        raise NotFoundError(f"no tool '{shorten(name)}'{did_you_mean(name, list(_BY_NAME))}")
    return found


def checked(tool: AgentTool, arguments: object) -> Any:
    """The arguments as the tool's request; InputError names every field that does not fit."""
    return as_request(arguments, tool.request)


def as_request(arguments: object, type_: type[Any]) -> Any:
    """Plain data as a request."""
    faults = problems(arguments, type_)
    if faults:
        error = InputError(faults[0].message, path=faults[0].path, more=[str(fault) for fault in faults[1:]])
        error.noun = "request"
        raise error
    try:
        return msgspec.convert(arguments, type_)
    except msgspec.ValidationError as error:  # what the walker does not look at, such as the length of a text
        raise InputError(str(error)) from None


def input_schema(tool: AgentTool) -> dict[str, Any]:
    """What the tool takes, as JSON Schema."""
    return _flat(json_schema(tool.request))


def output_schema(tool: AgentTool) -> dict[str, Any]:
    """What the tool gives, as JSON Schema."""
    return _flat(json_schema(tool.answer))


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    """The struct itself at the top: clients look for `type: object` and `properties` there, not for a reference."""
    name = document["$ref"].rpartition("/")[2]
    definitions = dict(document["$defs"])
    top = definitions.pop(name)
    return {**top, **({"$defs": definitions} if definitions else {})}
