"""How a turn of the stand-in reads in each API: Anthropic Messages, OpenAI Chat and Responses, Gemini."""

import json
from collections.abc import Iterator
from typing import Any, Protocol

from tests.real.emitters.turns import JSON, Part, Turn

READ, WROTE = 100, 7
"""Tokens of every answer, in and out. The number of the turn is added to the input, so that each differs."""


class Dialect(Protocol):
    """One API, with turns numbered from 1."""

    def streams(self, path: str, body: JSON) -> bool:
        """Whether the client wants events."""

    def count(self, path: str) -> JSON | None:
        """The answer to a request that only counts tokens."""

    def whole(self, number: int, turn: Turn, body: JSON) -> JSON:
        """The answer in one piece."""

    def events(self, number: int, turn: Turn, body: JSON) -> Iterator[str]:
        """The answer as server-sent events."""


def dialect_of(path: str) -> Dialect | None:
    """The API that a path belongs to."""
    if path.endswith(("/messages", "/messages/count_tokens")):
        return Anthropic()
    if path.endswith("/chat/completions"):
        return Chat()
    if path.endswith("/responses"):
        return Responses()
    if ":" in path and "/models/" in path:
        return Gemini()
    return None


def sse(data: JSON, event: str | None = None) -> str:
    """One server-sent event."""
    return (f"event: {event}\n" if event else "") + f"data: {json.dumps(data)}\n\n"


def calls_of(turn: Turn) -> list[Part]:
    """The tool calls of a turn."""
    return [part for part in turn if part.kind == "call"]


def text_of(turn: Turn, kind: str = "text") -> str:
    """The words of a turn."""
    return "\n".join(part.text for part in turn if part.kind == kind)


class Anthropic:
    """POST /v1/messages."""

    def streams(self, path: str, body: JSON) -> bool:
        return bool(body.get("stream"))

    def count(self, path: str) -> JSON | None:
        return {"input_tokens": READ} if path.endswith("count_tokens") else None

    def _blocks(self, number: int, turn: Turn) -> list[JSON]:
        blocks: list[JSON] = []
        for index, part in enumerate(turn):
            if part.kind == "text":
                blocks.append({"type": "text", "text": part.text})
            elif part.kind == "thinking":
                blocks.append({"type": "thinking", "thinking": part.text, "signature": "c2lnbmF0dXJl"})
            else:
                name = f"toolu_{number:02}_{index}"
                blocks.append({"type": "tool_use", "id": name, "name": part.name, "input": part.input})
        return blocks

    def whole(self, number: int, turn: Turn, body: JSON) -> JSON:
        return {
            "id": f"msg_{number:02}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": self._blocks(number, turn),
            "stop_reason": "tool_use" if calls_of(turn) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": READ + number,
                "output_tokens": WROTE,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 20,
            },
        }

    def events(self, number: int, turn: Turn, body: JSON) -> Iterator[str]:
        message = self.whole(number, turn, body)
        blocks, usage, reason = message["content"], message["usage"], message["stop_reason"]
        # At the start one output token is counted; the last event has the real number.
        start = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        yield sse({"type": "message_start", "message": start}, "message_start")
        for index, block in enumerate(blocks):
            begin, deltas = self._pieces(block)
            yield sse({"type": "content_block_start", "index": index, "content_block": begin}, "content_block_start")
            for delta in deltas:
                yield sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
            yield sse({"type": "content_block_stop", "index": index}, "content_block_stop")
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield sse({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        yield sse({"type": "message_stop"}, "message_stop")

    def _pieces(self, block: JSON) -> tuple[JSON, list[JSON]]:
        if block["type"] == "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
        if block["type"] == "thinking":
            return block | {"thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        written = json.dumps(block["input"])
        half = len(written) // 2
        return block | {"input": {}}, [
            {"type": "input_json_delta", "partial_json": piece} for piece in (written[:half], written[half:])
        ]


class Chat:
    """POST /v1/chat/completions."""

    def streams(self, path: str, body: JSON) -> bool:
        return bool(body.get("stream"))

    def count(self, path: str) -> JSON | None:
        return None

    def _frame(self, number: int, body: JSON, kind: str) -> JSON:
        return {"id": f"chatcmpl-{number:02}", "object": kind, "created": 1767225600, "model": body.get("model")}

    def _usage(self, number: int) -> JSON:
        return {"prompt_tokens": READ + number, "completion_tokens": WROTE, "total_tokens": READ + number + WROTE}

    def _calls(self, number: int, turn: Turn) -> list[JSON]:
        return [
            {
                "id": f"call_{number:02}_{index}",
                "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(part.input)},
            }
            for index, part in enumerate(calls_of(turn))
        ]

    def whole(self, number: int, turn: Turn, body: JSON) -> JSON:
        message: JSON = {"role": "assistant", "content": text_of(turn) or None}
        if calls_of(turn):
            message["tool_calls"] = self._calls(number, turn)
        reason = "tool_calls" if calls_of(turn) else "stop"
        return self._frame(number, body, "chat.completion") | {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": self._usage(number),
        }

    def events(self, number: int, turn: Turn, body: JSON) -> Iterator[str]:
        frame = self._frame(number, body, "chat.completion.chunk")

        def chunk(delta: JSON, reason: str | None = None) -> str:
            return sse(frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        yield chunk({"role": "assistant", "content": text_of(turn)})
        for index, made in enumerate(self._calls(number, turn)):
            yield chunk({"tool_calls": [{"index": index, **made}]})
        yield chunk({}, "tool_calls" if calls_of(turn) else "stop")
        yield sse(frame | {"choices": [], "usage": self._usage(number)})
        yield "data: [DONE]\n\n"


class Responses:
    """POST /v1/responses."""

    def streams(self, path: str, body: JSON) -> bool:
        return bool(body.get("stream"))

    def count(self, path: str) -> JSON | None:
        return None

    def _items(self, number: int, turn: Turn, custom: frozenset[str]) -> list[JSON]:
        items: list[JSON] = []
        for index, part in enumerate(turn):
            name = f"{number:02}_{index}"
            if part.kind == "text":
                content = [{"type": "output_text", "text": part.text, "annotations": []}]
                item: JSON = {"type": "message", "id": f"msg_{name}", "role": "assistant", "content": content}
            elif part.kind == "thinking":
                summary = [{"type": "summary_text", "text": part.text}]
                item = {"type": "reasoning", "id": f"rs_{name}", "summary": summary, "encrypted_content": "c2VjcmV0"}
            elif part.name in custom:
                item = {"type": "custom_tool_call", "id": f"ctc_{name}", "input": part.input["input"]}
            else:
                item = {"type": "function_call", "id": f"fc_{name}", "arguments": json.dumps(part.input)}
            if part.kind == "call":
                item |= {"call_id": f"call_{name}", "name": part.name}
            items.append(item | {"status": "completed"})
        return items

    def whole(self, number: int, turn: Turn, body: JSON) -> JSON:
        custom = frozenset(tool.get("name", "") for tool in body.get("tools") or [] if tool.get("type") == "custom")
        return {
            "id": f"resp_{number:02}",
            "object": "response",
            "created_at": 1767225600,
            "status": "completed",
            "model": body.get("model"),
            "output": self._items(number, turn, custom),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": READ + number,
                "input_tokens_details": {"cached_tokens": 30},
                "output_tokens": WROTE,
                "output_tokens_details": {"reasoning_tokens": 2},
                "total_tokens": READ + number + WROTE,
            },
        }

    def events(self, number: int, turn: Turn, body: JSON) -> Iterator[str]:
        response = self.whole(number, turn, body)
        order = iter(range(10_000))

        def event(kind: str, **data: Any) -> str:
            return sse({"type": kind, "sequence_number": next(order), **data}, kind)

        yield event("response.created", response=response | {"output": [], "status": "in_progress", "usage": None})
        for index, item in enumerate(response["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {name: value[:0] for name, value in item.items() if name in ("content", "summary", "arguments")}
            yield event("response.output_item.added", output_index=index, item=item | empty)
            if item["type"] == "message":
                text = item["content"][0]
                start = text | {"text": ""}
                yield event("response.content_part.added", **place, content_index=0, part=start)
                yield event("response.output_text.delta", **place, content_index=0, delta=text["text"], logprobs=[])
                yield event("response.output_text.done", **place, content_index=0, text=text["text"], logprobs=[])
                yield event("response.content_part.done", **place, content_index=0, part=text)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=response)


class Gemini:
    """POST /v1beta/models/<model>:generateContent and its streaming sibling."""

    def streams(self, path: str, body: JSON) -> bool:
        return path.endswith(":streamGenerateContent")

    def count(self, path: str) -> JSON | None:
        return {"totalTokens": READ} if path.endswith(":countTokens") else None

    def whole(self, number: int, turn: Turn, body: JSON) -> JSON:
        parts: list[JSON] = []
        for index, part in enumerate(turn):
            if part.kind == "text":
                parts.append({"text": part.text})
            elif part.kind == "thinking":
                parts.append({"text": part.text, "thought": True})
            else:
                made = {"id": f"call_{number:02}_{index}", "name": part.name, "args": part.input}
                parts.append({"functionCall": made})
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": READ + number,
                "candidatesTokenCount": WROTE,
                "thoughtsTokenCount": 2,
                "cachedContentTokenCount": 30,
                "totalTokenCount": READ + number + WROTE + 2,
            },
            "modelVersion": "gemini-2.5-flash",
            "responseId": f"resp-{number:02}",
        }

    def events(self, number: int, turn: Turn, body: JSON) -> Iterator[str]:
        yield sse(self.whole(number, turn, body))
