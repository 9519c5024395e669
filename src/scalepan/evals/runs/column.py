"""Which scorer made a number, in which version, with which options? If none of it changed, the number still holds."""

import inspect
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from scalepan.errors import InputError
from scalepan.evals.registry import Bound
from scalepan.evals.runs.digest import digest, file_digest
from scalepan.policy import Policy

FIRST_VERSION = "1"
"""Of a built-in scorer whose module states no VERSION: it is raised when the same input gives another number."""
UNKNOWN = "unknown"
"""The version of a scorer whose source cannot be found: its numbers are never taken over."""
ASKS = {"llm-judge": "judge", "embedding-similarity": "embed"}
"""Scorers whose numbers depend on another section of the policy: the model that is asked, or the encoder."""
VERDICT_ONLY = ("version", "preset", "presets", "thresholds")
"""Keys of the section `evals` that say which scorers run and what passes, not what a scorer measures."""


class ScorerColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The identity of a scorer's numbers. Threshold and weight are not part of it: verdicts are recomputed."""

    scorer: str
    version: str
    options: str
    """A digest of the options and of the policy that the scorer reads."""

    def holds(self, other: "ScorerColumn") -> bool:
        """Whether a number of `other` would be the same here."""
        return self == other and self.version != UNKNOWN


class Columns:
    """The columns of a run's scorers under its policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        evals: dict[str, Any] = msgspec.to_builtins(policy.evals, enc_hook=str)
        self._evals = {key: value for key, value in evals.items() if key not in VERDICT_ONLY}

    def of(self, bound: Bound) -> ScorerColumn:
        """The column of one scorer with its options."""
        section = ASKS.get(bound.type)
        asked = msgspec.to_builtins(getattr(self._policy, section), enc_hook=str) if section else None
        options = bound.options if bound.options is not None else bound.given
        return ScorerColumn(bound.type, _version(bound.target), digest([options, self._evals, asked]))


def _version(target: Any) -> str:
    """A built-in scorer says its version; of any other, the digest of the file that it is written in."""
    if inspect.ismodule(target):
        return str(getattr(target, "VERSION", FIRST_VERSION))
    found = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    try:
        path = inspect.getsourcefile(inspect.unwrap(found))
        if path is None:
            return UNKNOWN
        state = os.stat(path)
        return _of_file(path, state.st_mtime_ns, state.st_size)
    except (TypeError, ValueError, OSError, InputError):
        return UNKNOWN


@lru_cache(maxsize=64)
def _of_file(path: str, _changed: int, _size: int) -> str:
    return file_digest(Path(path))
