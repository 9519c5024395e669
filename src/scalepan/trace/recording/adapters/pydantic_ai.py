"""Pydantic AI, recorded by a capability: `Agent(model, capabilities=[recording.pydantic_ai(file=...)])`.

Each run of the agent is a trace. An agent that has the capability too and is run by a tool is a sub-agent. What the
model is shown says how a call ended; the hooks around tools add how long it took and exceptions that end the run.
"""

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from scalepan.errors import ScalepanError
from scalepan.trace.readers.build import UNKNOWN_DOMAIN
from scalepan.trace.readers.lenient import parsed
from scalepan.trace.recording.adapters.quiet import quiet
from scalepan.trace.recording.adapters.run import AgentRun, Destination, OnTrace, destination, start_run
from scalepan.trace.recording.texts import as_text, error_text

FRAMEWORK = "pydantic-ai"
# What a tool raises to answer the model, or to leave the answer to somebody else. The model is shown it as a message.
_ANSWERS = frozenset(
    (
        *("ModelRetry", "ToolRetryError", "ToolFailed", "ToolFailedError"),
        *("SkipToolExecution", "CallDeferred", "ApprovalRequired"),
    )
)
_FAILED = {"success": False, "failed": True, "retried": True}
_REFUSED = frozenset(("denied", "interrupted"))

_around: ContextVar[AgentRun | None] = ContextVar("scalepan_pydantic_ai_run", default=None)
"""The run whose tool is at work."""


def pydantic_ai(
    *, domain: str = UNKNOWN_DOMAIN, file: str | os.PathLike[str] | None = None, on_trace: OnTrace | None = None
) -> Any:
    """A capability that records every run of the agents that have it.

    Traces go to the `file` as JSON lines and to `on_trace`; inside `scalepan.record`, steps join that recording.
    """
    to = destination(domain, file, on_trace)
    try:
        from pydantic_ai.capabilities import AbstractCapability
    except ImportError:
        raise ScalepanError("recording Pydantic AI needs version 2: pip install 'pydantic-ai-slim>=2'") from None

    class RecordingCapability(HookRecorder, AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]
        """Hooks become steps."""

    return RecordingCapability(to)


class HookRecorder:
    """Hooks in, steps out. Many runs may go on at once."""

    def __init__(self, to: Destination) -> None:
        self._to = to
        self._runs: dict[str, AgentRun] = {}

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        """A run, from its prompt to its result."""
        self._begin(ctx)
        try:
            result = await handler()
        except BaseException as error:
            self._end(ctx, error)
            raise
        self._end(ctx, None, result)
        return result

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """A model is asked; what it is shown has the results of calls."""
        self._see(ctx, request_context.messages)
        return request_context

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """A model answered."""
        self._answer(ctx, request_context, response)
        return response

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, args: Any, handler: Callable[[Any], Awaitable[Any]], **_: Any
    ) -> Any:
        """A tool at work. An agent that it runs is a sub-agent."""
        run, raised = self._runs.get(ctx.run_id), None
        self._called(run, call)
        token, start = _around.set(run), perf_counter()
        try:
            return await handler(args)
        except BaseException as error:
            raised = error
            raise
        finally:
            with suppress(ValueError):  # ended in another context, where it never was around anything
                _around.reset(token)
            self._done(run, call, (perf_counter() - start) * 1000.0, raised)

    @quiet
    def _begin(self, ctx: Any) -> None:
        name = getattr(ctx.agent, "name", None)
        run = start_run(self._to, FRAMEWORK, name=name, parent=_around.get())
        if run is not None:
            self._runs[ctx.run_id] = run
            run.request(_prompt(ctx.prompt))

    @quiet
    def _end(self, ctx: Any, error: BaseException | None, result: Any = None) -> None:
        run = self._runs.pop(ctx.run_id, None)
        if run is None:
            return
        if result is not None:
            _results(run, result.new_messages()[-1:], [])  # calls beside the final answer
        run.end(error)

    @quiet
    def _see(self, ctx: Any, messages: list[Any]) -> None:
        run = self._runs.get(ctx.run_id)
        if run is not None and messages:
            # Only the last message is new: those before it are the model's own, and what it has been shown.
            _results(run, messages[-1:], messages)
            asked = [_prompt(part.content) for part in _parts(messages) if part.part_kind == "user-prompt"]
            if any(part.part_kind == "user-prompt" for part in messages[-1].parts):
                run.request(asked[-1])
            run.resume(asked[-1] if asked else None)

    @quiet
    def _answer(self, ctx: Any, request_context: Any, response: Any) -> None:
        run = self._runs.get(ctx.run_id)
        if run is None:
            return
        run.used(response.model_name, response.usage.input_tokens, response.usage.output_tokens)
        outputs = {tool.name for tool in request_context.model_request_parameters.output_tools}
        for part in response.parts:
            _part(run, part, outputs)

    @quiet
    def _called(self, run: AgentRun | None, call: Any) -> None:
        """A call that an earlier run made and somebody has approved since."""
        if run is not None and call.tool_call_id not in run.waiting:
            run.call(call.tool_name, parsed(call.args), call.tool_call_id)

    @quiet
    def _done(self, run: AgentRun | None, call: Any, latency_ms: float, error: BaseException | None) -> None:
        if run is None:
            return
        run.took(call.tool_call_id, latency_ms)
        if error is not None and not any(kind.__name__ in _ANSWERS for kind in type(error).__mro__):
            failed = isinstance(error, Exception)
            run.result(call.tool_call_id, error_text(error), failed=failed or None, refused=None if failed else True)


def _prompt(prompt: Any) -> str:
    """A prompt as text; what is not text in it is named."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(_piece(piece) for piece in prompt)


def _piece(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    content = getattr(piece, "content", None)
    return content if isinstance(content, str) else f"[{getattr(piece, 'kind', type(piece).__name__)}]"


def _part(run: AgentRun, part: Any, outputs: set[str]) -> None:
    match part.part_kind:
        case "thinking":
            run.think(part.content)
        case "text":
            run.say(part.content)
        case "tool-call" if part.tool_name in outputs:
            run.say(as_text(parsed(part.args)))  # the answer, in the form that was asked for
        case "tool-call" | "builtin-tool-call" | "native-tool-call":
            run.call(part.tool_name, parsed(part.args), part.tool_call_id)
        case "builtin-tool-return" | "native-tool-return":
            run.result(part.tool_call_id, part.content, failed=_FAILED.get(part.outcome))
        case kind:
            with run.recording.building() as builder:
                builder.skip(kind)


def _parts(messages: Iterable[Any]) -> list[Any]:
    return [part for message in messages for part in message.parts]


def _results(run: AgentRun, messages: list[Any], history: list[Any]) -> None:
    """What came of calls, as the model is told."""
    for part in _parts(message for message in messages if message.kind == "request"):
        match part.part_kind:
            case "tool-return":
                _returned(run, part, history)
            case "retry-prompt" | "retry-feedback":
                said = part.model_response()
                if getattr(part, "tool_call_id", None) in run.waiting:
                    run.result(part.tool_call_id, said, failed=True)
                else:
                    run.observe(said)


def _returned(run: AgentRun, part: Any, history: list[Any]) -> None:
    outcome = getattr(part, "outcome", "success")
    said = part.content if isinstance(part.content, str) else part.model_response_str()
    if part.tool_call_id not in run.waiting and outcome in _REFUSED:
        # The run before this one made the call, and stopped to ask somebody.
        made = [
            one for one in _parts(history) if one.part_kind == "tool-call" and one.tool_call_id == part.tool_call_id
        ]
        run.call(part.tool_name, parsed(made[-1].args) if made else None, part.tool_call_id)
    if part.tool_call_id in run.waiting:
        run.result(part.tool_call_id, said, failed=_FAILED.get(outcome), refused=outcome in _REFUSED or None)
    elif outcome == "retried":
        run.observe(said)  # the answer did not have the form that was asked for
