"""One run of Claude Code put together: its records in order become the steps of a trace."""

from collections import Counter
from typing import Any, NamedTuple

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import CODE, TraceBuilder
from scalepan.trace.readers.claude.messages import (
    INPUT_TOKENS,
    SYNTHETIC,
    ClaudeMessage,
    Item,
    ToolReturn,
    ToolUse,
    Utterance,
    count,
)

FRAMEWORK = "claude-code"


class ClaudeAnswer(NamedTuple):
    """The answer of the API that a record is a part of."""

    key: tuple[Any, ...]
    """The same for all records of one answer."""
    model: str | None
    input_tokens: int
    output_tokens: int
    ended: str | None


class ClaudeRecord(NamedTuple):
    """What a line holds for the trace."""

    line: int
    uuid: str | None
    at: str | None
    items: list[Item]
    answer: ClaudeAnswer | None = None
    ended: str | None = None
    """How the run ended, if this is its last record."""


def answer_of(message: ClaudeMessage, request: str | None, uuid: str | None) -> ClaudeAnswer:
    """Which answer a message belongs to, and what it states of it."""
    input_tokens = count(message.usage, *INPUT_TOKENS)
    # Some gateways give every answer the same id. Without a request to tell them apart, what the model read does.
    key = (message.id or uuid, request if request is not None else input_tokens)
    return ClaudeAnswer(key, message.model, input_tokens, count(message.usage, "output_tokens"), message.stop_reason)


def error_record(line: int, uuid: str | None, at: str | None, error: Any, *, api: bool) -> ClaudeRecord:
    """A message that Claude Code wrote in the agent's place: no words of the agent, but how the run ended for now."""
    kind = "isApiErrorMessage" if api else SYNTHETIC
    ended = (error if isinstance(error, str) and error else "api_error") if api else None
    return ClaudeRecord(line, uuid, at, [Utterance("skip", kind)], ended=ended)


class ClaudeRun:
    """Collects the records of one run."""

    def __init__(self, format_: str, *, counted_output: bool = True) -> None:
        self._counted_output = counted_output
        self.builder = TraceBuilder(format_, domain=CODE, framework=FRAMEWORK)
        self.first_line: int | None = None
        self.worked = False
        """Whether the agent did anything."""
        self._tokens: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._models: dict[tuple[Any, ...], str] = {}
        self._command: str | None = None

    def add(self, record: ClaudeRecord) -> None:
        """The next record."""
        if self.first_line is None:
            self.first_line = record.line
        if self.builder.created_at is None:
            self.builder.created_at = record.at
        for item in record.items:
            if isinstance(item, Utterance):
                self._words(item, record.at)
            elif isinstance(item, ToolUse):
                self._act()
                self.builder.call(item.name, item.input, item.call_id, record.at)
            else:
                self._returned(item, record.at)
        if record.answer is not None:
            self._answered(record.answer)
        if record.ended is not None:
            self.builder.ended = record.ended

    def build(self, *id_parts: str) -> ReasoningTrace:
        """The trace. Input tokens are all that the model read, also what came from the cache or was put there."""
        builder = self.builder
        if self._tokens and builder.input_tokens is None:
            builder.input_tokens = sum(read for read, _ in self._tokens.values())
        if self._tokens and builder.output_tokens is None and self._counted_output:
            builder.output_tokens = sum(written for _, written in self._tokens.values())
        if self._models:
            # A session can change its model: the one that gave most of the answers.
            builder.model = Counter(self._models.values()).most_common(1)[0][0]
        if self._command is not None:
            builder.skip("command-name")
        return builder.build(*id_parts)

    def _words(self, words: Utterance, at: str | None) -> None:
        builder = self.builder
        if words.kind == "think":
            self._act()
            builder.think(words.text, at)
        elif words.kind == "say":
            self._act()
            builder.say(words.text, at)
        elif words.kind == "request":
            self._drop_command()
            builder.request(words.text, at)
        elif words.kind == "notice":
            builder.observe(words.text, at=at)
        elif words.kind == "command":
            self._drop_command()
            self._command = words.text
        elif words.kind == "interrupted":
            self._interrupted(words.text, at)
        else:
            if words.text == "local-command-stdout":
                self._drop_command()
            builder.skip(words.text)

    def _act(self) -> None:
        """The agent does something. If a command was the last that a person typed, the command made it do so."""
        self.worked = True
        if self._command is not None:
            self.builder.request(self._command)
            self._command = None

    def _drop_command(self) -> None:
        """A command that Claude Code carried out itself, such as /model, asked the agent for nothing."""
        if self._command is not None:
            self.builder.skip("command-name")
            self._command = None

    def _returned(self, result: ToolReturn, at: str | None) -> None:
        self.builder.observe(result.text, result.call_id, at, failed=result.failed, refused=result.refused)

    def _interrupted(self, text: str, at: str | None) -> None:
        self.builder.ended = "interrupted"
        last = self.builder.steps[-1].origin if self.builder.steps else None
        if last is not None and last.refused:
            # The refusal of the call is there already: it was one act of the person.
            self.builder.skip("interrupted")
        else:
            self.builder.observe(text, at=at, refused=True)

    def _answered(self, answer: ClaudeAnswer) -> None:
        # Later records of an answer know more: the last usage counts.
        if answer.input_tokens or answer.output_tokens:
            self._tokens[answer.key] = (answer.input_tokens, answer.output_tokens)
        if answer.model is not None:
            self._models[answer.key] = answer.model
        if answer.ended is not None:
            self.builder.ended = answer.ended
