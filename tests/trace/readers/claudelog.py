"""A Claude Code session written by hand: lines in the shape of the real ones, each following the one before."""

from typing import Any

Json = dict[str, Any]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def tool_use(id_: str, name: str = "Bash", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def tool_result(id_: str, content: Any, **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": content} | more


def usage(read: int, written: int, *, cached: int = 0, created: int = 0) -> Json:
    return {
        "input_tokens": read,
        "output_tokens": written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": created,
    }


class ClaudeLog:
    """Collects lines. `more` of every method adds fields to the line, or changes them."""

    def __init__(self, session: str = "s-1", start: str = "u") -> None:
        self.session = session
        self.lines: list[Json] = []
        self.last: str | None = None
        self._start = start

    def line(self, type_: str, **more: Any) -> str:
        """Any line with a place in the tree; returns its uuid."""
        number = len(self.lines) + 1
        line = {
            "parentUuid": self.last,
            "isSidechain": False,
            "type": type_,
            "uuid": f"{self._start}{number}",
            "timestamp": f"2026-01-31T12:00:{number % 60:02}.000Z",
            "cwd": "/home/anna/work/shop",
            "sessionId": self.session,
            "version": "2.1.326",
        } | more
        self.lines.append(line)
        self.last = line["uuid"]
        return str(self.last)

    def ask(self, content: Any, **more: Any) -> str:
        """The user's role: a request, or whatever Claude Code writes in it."""
        return self.line("user", **{"message": {"role": "user", "content": content}} | more)

    def answer(self, id_: str, *blocks: Json, spent: Json | None = None, **more: Any) -> str:
        """A part of an answer of the API."""
        message = {
            "id": id_,
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": list(blocks),
            "stop_reason": "tool_use" if blocks and blocks[-1]["type"] == "tool_use" else "end_turn",
            "usage": spent or usage(10, 2),
        }
        return self.line("assistant", **{"message": message} | more)

    def result(self, id_: str, content: Any, *, error: bool = False, **more: Any) -> str:
        """A tool's result."""
        return self.ask([tool_result(id_, content, is_error=error)], **more)
