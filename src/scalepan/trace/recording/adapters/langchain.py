"""LangGraph and LangChain, recorded by a callback handler: `config={"callbacks": [recording.langchain(file=...)]}`.

Each run that the user starts is a trace, and its subgraphs are part of it. A graph or chain that a tool runs is a
sub-agent; a model that a tool asks directly is part of the tool.
"""

import os
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal, NamedTuple

from scalepan.errors import ScalepanError
from scalepan.trace.readers.build import UNKNOWN_DOMAIN
from scalepan.trace.readers.lenient import parsed, words
from scalepan.trace.recording.adapters.quiet import quiet
from scalepan.trace.recording.adapters.run import AgentRun, Destination, OnTrace, destination, start_run
from scalepan.trace.recording.texts import as_plain, error_text

FRAMEWORK = "langchain"
# What LangGraph raises to pause or to go elsewhere: no failure.
_CONTROL = "GraphBubbleUp"
# What LangChain calls a run that the user gave no name.
_UNNAMED = frozenset(("LangGraph", "RunnableSequence"))
_QUESTIONS = ("input", "question", "query")


def langchain(
    *, domain: str = UNKNOWN_DOMAIN, file: str | os.PathLike[str] | None = None, on_trace: OnTrace | None = None
) -> Any:
    """A callback handler that records runs of LangGraph graphs, LangChain agents, chains and models.

    Traces go to the `file` as JSON lines and to `on_trace`; inside `scalepan.record`, steps join that recording.
    """
    to = destination(domain, file, on_trace)
    try:
        from langchain_core.callbacks import BaseCallbackHandler
    except ImportError:
        raise ScalepanError("recording LangChain or LangGraph needs it: pip install langchain-core") from None

    class RecordingHandler(CallbackRecorder, BaseCallbackHandler):  # type: ignore[misc, unused-ignore]
        """Callbacks become steps."""

        # In the order of events and in the context of the run, also where the run is async.
        run_inline = True

    return RecordingHandler(to)


class _Started(NamedTuple):
    """Something that has started: a chain, a model, a tool or a retriever."""

    kind: Literal["chain", "model", "tool"]
    run: AgentRun | None
    """The run it is part of; None inside of a tool, or if the run cannot be recorded."""
    owns: bool
    """Whether the run ends with it."""
    call_id: str | None = None
    start: float = 0.0


class CallbackRecorder:
    """Events in, steps out. LangChain calls it from any thread."""

    def __init__(self, to: Destination) -> None:
        self._to = to
        self._open: dict[Any, _Started] = {}
        self._lock = threading.RLock()

    # Chains and graphs

    @quiet
    def on_chain_start(self, _: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any) -> None:
        """A graph, a node, or anything else that is composed of steps."""
        with self._lock:
            event = self._start("chain", run_id, parent_run_id, more.get("name"))
            if event.owns and event.run is not None:
                event.run.state(_objective(inputs))

    @quiet
    def on_chain_end(self, _: Any, *, run_id: Any, **__: Any) -> None:
        """It returned."""
        self._finish(run_id)

    @quiet
    def on_chain_error(self, error: BaseException, *, run_id: Any, **__: Any) -> None:
        """It raised."""
        self._finish(run_id, error)

    # Models

    @quiet
    def on_chat_model_start(
        self, _: Any, messages: Sequence[Sequence[Any]], *, run_id: Any, parent_run_id: Any = None, **more: Any
    ) -> None:
        """A model is asked; its messages have results that no tool reported, and what a person asked last."""
        with self._lock:
            run = self._start("model", run_id, parent_run_id, more.get("name")).run
            if run is not None and messages:
                _see(run, messages[0])

    @quiet
    def on_llm_start(
        self, _: Any, prompts: Sequence[str], *, run_id: Any, parent_run_id: Any = None, **more: Any
    ) -> None:
        """A model without messages is asked."""
        with self._lock:
            run = self._start("model", run_id, parent_run_id, more.get("name")).run
            if run is not None and prompts:
                run.request(prompts[0])

    @quiet
    def on_llm_end(self, response: Any, *, run_id: Any, **__: Any) -> None:
        """A model answered; of several answers the first counts."""
        with self._lock:
            event = self._open.get(run_id)
            if event is not None and event.run is not None and response.generations and response.generations[0]:
                _answer(event.run, response.generations[0][0])
        self._finish(run_id)

    @quiet
    def on_llm_error(self, error: BaseException, *, run_id: Any, **__: Any) -> None:
        """A model failed."""
        self._finish(run_id, error)

    # Tools

    @quiet
    def on_tool_start(
        self,
        serialized: Any,
        text: str,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        inputs: Any = None,
        **more: Any,
    ) -> None:
        """A tool begins: one that a model called, or that the program itself calls."""
        name = (serialized or {}).get("name") or more.get("name") or "tool"
        given = inputs if inputs is not None else parsed(text)
        self._called(name, given, more.get("tool_call_id"), run_id, parent_run_id)

    @quiet
    def on_tool_end(self, output: Any, *, run_id: Any, **__: Any) -> None:
        """A tool returned."""
        with self._lock:
            event = self._open.get(run_id)
            said = _tool_message(output, event.call_id if event is not None else None)
            if event is not None and said is not None:
                self._returned(event, said[0], failed=said[1])
        self._finish(run_id)

    @quiet
    def on_tool_error(self, error: BaseException, *, run_id: Any, **__: Any) -> None:
        """A tool raised."""
        with self._lock:
            event = self._open.get(run_id)
            if event is not None and not _is_control(error):
                self._returned(event, error_text(error), failed=True)
        self._finish(run_id, error)

    @quiet
    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, parent_run_id: Any = None, **more: Any
    ) -> None:
        """Documents are looked up, which is a tool by another name."""
        name = more.get("name") or (serialized or {}).get("name") or "retriever"
        self._called(name, {"query": query}, None, run_id, parent_run_id)

    @quiet
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: Any, **__: Any) -> None:
        """Documents were found."""
        with self._lock:
            event = self._open.get(run_id)
            if event is not None:
                found = [getattr(document, "page_content", str(document)) for document in documents]
                self._returned(event, "\n\n".join(found), failed=False)
        self._finish(run_id)

    @quiet
    def on_retriever_error(self, error: BaseException, *, run_id: Any, **__: Any) -> None:
        """The lookup raised."""
        self.on_tool_error(error, run_id=run_id)

    # Which run an event is part of

    def _start(
        self, kind: Literal["chain", "model", "tool"], run_id: Any, parent_id: Any, name: object = None
    ) -> _Started:
        parent = self._open.get(parent_id)
        if parent is None:
            run, owns = self._new_run(name), True
        elif kind == "chain" and parent.kind == "tool" and parent.run is not None:
            run, owns = self._new_run(name, parent.run), True
        else:
            run, owns = (parent.run if parent.kind != "tool" else None), False
        event = self._open[run_id] = _Started(kind, run, owns)
        return event

    def _new_run(self, name: object, parent: AgentRun | None = None) -> AgentRun | None:
        named = name if isinstance(name, str) and name not in _UNNAMED else None
        return start_run(self._to, FRAMEWORK, name=named, parent=parent)

    def _called(self, name: str, given: Any, call_id: str | None, run_id: Any, parent_id: Any) -> None:
        with self._lock:
            event = self._start("tool", run_id, parent_id, name)
            if event.run is not None:
                if call_id is None or call_id not in event.run.waiting:
                    call_id = event.run.call(name, given, call_id or str(run_id))
                self._open[run_id] = event._replace(call_id=call_id, start=perf_counter())

    def _returned(self, event: _Started, output: Any, *, failed: bool) -> None:
        if event.run is not None:
            took = (perf_counter() - event.start) * 1000.0
            event.run.result(event.call_id, output, failed=failed, latency_ms=took)

    def _finish(self, run_id: Any, error: BaseException | None = None) -> None:
        with self._lock:
            event = self._open.pop(run_id, None)
        if event is not None and event.owns and event.run is not None:
            if error is not None and _is_control(error):
                event.run.end(ended=type(error).__name__)
            else:
                event.run.end(error)


def _is_control(error: BaseException) -> bool:
    return any(kind.__name__ == _CONTROL for kind in type(error).__mro__)


def _objective(inputs: Any) -> str | None:
    """What a chain is asked: its text, or what a dict has under a usual name. Messages are read when a model is."""
    if isinstance(inputs, dict):
        inputs = next((inputs[key] for key in _QUESTIONS if isinstance(inputs.get(key), str)), None)
    return inputs if isinstance(inputs, str) else None


def _see(run: AgentRun, messages: Sequence[Any]) -> None:
    for message in messages:
        if message.type == "tool":
            run.result(message.tool_call_id, _said(message), failed=_failed(message))
    last: list[str] = []
    for message in reversed(messages):
        if message.type not in ("human", "system"):
            break
        if message.type == "human":
            last.append(_said(message))
    for text in reversed(last):
        run.request(text)
    run.resume(next((_said(message) for message in reversed(messages) if message.type == "human"), None))


def _answer(run: AgentRun, generation: Any) -> None:
    message = getattr(generation, "message", None)
    if message is None:
        run.say(generation.text)
        return
    usage = getattr(message, "usage_metadata", None) or {}
    about = getattr(message, "response_metadata", None) or {}
    run.used(about.get("model_name") or about.get("model"), usage.get("input_tokens"), usage.get("output_tokens"))
    for block in as_plain(list(message.content_blocks)):
        _block(run, block)


def _block(run: AgentRun, block: dict[str, Any]) -> None:
    match block.get("type"):
        case "reasoning":
            run.think(block.get("reasoning") or "")
        case "tool_call" | "tool_call_chunk" | "invalid_tool_call" | "server_tool_call":
            run.call(block.get("name") or "unknown", parsed(block.get("args")), block.get("id"))
        case "server_tool_result":
            failed = {"success": False, "error": True}.get(block.get("status") or "")
            run.result(block.get("tool_call_id"), words(block.get("output")), failed=failed)
        case _:
            run.say(words([block]) or "")


def _said(message: Any) -> str:
    return words(as_plain(message.content)) or ""


def _failed(message: Any) -> bool:
    return bool(getattr(message, "status", None) == "error")


def _tool_message(output: Any, call_id: str | None) -> tuple[Any, bool] | None:
    """What a tool returned and whether it failed. None if that is only in a message still to come."""
    if getattr(output, "type", None) == "tool":
        return _said(output), _failed(output)
    update = getattr(output, "update", None)
    if type(output).__name__ == "Command":
        messages = update.get("messages", []) if isinstance(update, dict) else []
        answers = [one for one in messages if getattr(one, "tool_call_id", None) == call_id]
        return (_said(answers[0]), _failed(answers[0])) if answers else None
    return output, False
