"""What only a policy that the user named may set: where text is sent, with which key, which files are read, and whether
an agent's own word is enough.

A file found by walking upward and a policy in a store are data that somebody else may have put there. These
keys are ignored there, with one warning. (No policy runs code: a preset names registered scorers.)
"""

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple

from scalepan.errors import PolicyWarning, printable

Source = Literal["named", "call", "found", "stored"]
"""Where a layer comes from: a file that the user named, or their configuration; environment and call; a file found
upward; a store."""

PATH_STARTS = ("/", ".", "~")
"""How a path begins, to tell it from a name: `./model` is a folder, `model` is a name."""


class Layer(NamedTuple):
    """Some keys of a policy and where they come from."""

    origin: str
    values: Mapping[str, Any]
    source: Source = "stored"

    @property
    def may_relax(self) -> bool:
        """Whether it may make `boundary` and `redact` less strict."""
        return self.source == "named"

    @property
    def may_send(self) -> bool:
        """Whether it may set where text is sent, which files are read, and how little the gate asks for."""
        return self.source in ("named", "call")


class Ignored(NamedTuple):
    """A key that a layer may not set, with the value it has there."""

    path: str
    value: Any
    why: str


def reserved(layer: Layer) -> Iterator[Ignored]:
    """The keys that this layer sets and may not.

    >>> [key.path for key in reserved(Layer("found", {"judge": {"key_env": "HOME", "redact": True}, "value": {}}))]
    ['judge.key_env']
    """
    if layer.may_send:
        return
    judge, embed = _table(layer.values, "judge"), _table(layer.values, "embed")
    gate = _table(_table(layer.values, "confidence"), "gate")
    if "base_url" in judge:
        yield Ignored("judge.base_url", judge["base_url"], "where text is sent")
    if "key_env" in judge:
        yield Ignored("judge.key_env", judge["key_env"], "which secret is sent with it")
    if judge.get("redact") is False:
        yield Ignored("judge.redact", False, "whether text is sent unredacted")
    if isinstance(model := embed.get("model"), str) and model.startswith(PATH_STARTS):
        yield Ignored("embed.model", model, "which files are read")
    if gate.get("evidence") == "optional":
        yield Ignored("confidence.gate.evidence", "optional", "whether an agent goes on by its own word alone")


def without(values: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """The same values without these keys.

    >>> without({"judge": {"base_url": "http://x", "model": "m"}}, ["judge.base_url"])
    {'judge': {'model': 'm'}}
    """
    left = dict(values)
    for path in paths:
        key, _, rest = path.partition(".")
        if rest:
            left[key] = without(left[key], [rest])
        else:
            del left[key]
    return left


def at(values: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None if there is none."""
    found: Any = values
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = values.get(name)
    return table if isinstance(table, Mapping) else {}


_lock = threading.Lock()
_told: set[str] = set()
_watching: ContextVar[list[str] | None] = ContextVar("watching", default=None)


def tell(message: str) -> None:
    """A PolicyWarning, once per process: a policy is loaded many times."""
    message = printable(message)
    if (watched := _watching.get()) is not None:
        watched.append(message)
        return
    with _lock:
        if message in _told:
            return
        _told.add(message)
    warnings.warn(message, PolicyWarning, stacklevel=3)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collects the warnings of this block."""
    messages: list[str] = []
    token = _watching.set(messages)
    try:
        yield messages
    finally:
        _watching.reset(token)
