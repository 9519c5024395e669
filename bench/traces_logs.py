"""Logs of agents for benchmarks: the shape and the mix of sizes of real ones, with random words in them.

python -m bench.traces_logs claude 20000 > session.jsonl
"""

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

JSON = dict[str, Any]
_TEXT = (
    "def return import class self for in if not None True False assert raise with open path line value name "
    "the a of to and is that it was on are as with his they at be this have from or one had by but not what "
    "test error warning failed passed module file column index table select where join build cache store key"
)
_WORDS = _TEXT.split()


class _Session:
    """Writes the lines of one Claude Code session, each following the one before."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.id = self._uuid()
        self.last: str | None = None
        self.count = 0
        self.answers = 0

    def text(self, size: int) -> str:
        """About that many characters, in lines."""
        words = self.random.choices(_WORDS, k=max(1, size // 6))
        return "\n".join(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))

    def line(self, type_: str, **fields: Any) -> str:
        """A line with a place in the tree."""
        parent, self.last = self.last, self._uuid()
        self.count += 1
        at = datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=self.count)
        record = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": type_,
            **fields,
            "uuid": self.last,
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "userType": "external",
            "cwd": "/home/anna/work/shop",
            "sessionId": self.id,
            "version": "2.1.326",
            "gitBranch": "main",
        }
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False)

    def answer(self, *blocks: JSON) -> Iterator[str]:
        """One answer of the API: a line per block, the same usage on each."""
        self.answers += 1
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": self.random.randrange(4000),
            "cache_read_input_tokens": 20_000 + 500 * self.answers,
            "output_tokens": self.random.randrange(900),
        }
        for block in blocks:
            message = {
                "id": f"msg_{self.answers:06}",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [block],
                "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                "usage": usage,
            }
            yield self.line("assistant", message=message, requestId=f"req_{self.answers:06}")

    def result(self, call: str, text: str, *, failed: bool = False) -> str:
        """A tool's result, which Claude Code also keeps in its own form."""
        block = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": failed}
        kept: Any = (
            f"Error: {text}" if failed else {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        )
        return self.line("user", message={"role": "user", "content": [block]}, toolUseResult=kept)

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))


def claude_session(seed: int, lines: int) -> Iterator[str]:
    """A Claude Code session: prompts, thinking, calls of tools, results of some kB and now and then of 200 kB."""
    session = _Session(seed)
    random = session.random
    while session.count < lines:
        yield session.line("user", message={"role": "user", "content": session.text(random.choice((60, 300, 2000)))})
        for _ in range(random.randrange(4, 30)):
            yield from _claude_turn(session)
        yield from session.answer({"type": "text", "text": session.text(random.choice((200, 1500)))})


def _claude_turn(session: _Session) -> Iterator[str]:
    random = session.random
    call = f"toolu_{session.count:08}"
    name = random.choice(("Bash", "Read", "Edit", "Grep", "mcp__github__search"))
    change = {"file_path": "src/shop.py", "text": session.text(4000 if name == "Edit" else 150)}
    yield from session.answer(
        {"type": "thinking", "thinking": session.text(random.choice((0, 400, 2500))), "signature": "c2ln" * 150},
        {"type": "text", "text": session.text(120)},
        {
            "type": "tool_use",
            "id": call,
            "name": name,
            "input": change,
        },
    )
    chance = random.random()
    size = 200_000 if chance < 0.01 else 20_000 if chance < 0.1 else random.randrange(200, 6000)
    yield session.result(call, session.text(size), failed=chance > 0.92)
    if chance < 0.3:
        yield session.line("attachment", attachment={"type": "total_tokens_reminder", "text": session.text(3000)})
    if chance < 0.05:
        snapshot = {
            "type": "file-history-snapshot",
            "messageId": session.last,
            "snapshot": {"files": session.text(900)},
        }
        yield json.dumps(snapshot, separators=(",", ":"))


LOGS: dict[str, Callable[[int, int], Iterator[str]]] = {"claude": claude_session}


if __name__ == "__main__":
    for written in LOGS[sys.argv[1]](0, int(sys.argv[2])):
        sys.stdout.write(written + "\n")
