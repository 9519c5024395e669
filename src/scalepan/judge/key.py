"""The endpoint's key: read from the environment when it is used, shown nowhere."""

import os
from collections.abc import Mapping

from scalepan.policy.judge import JudgePolicy

DEFAULT = JudgePolicy().key_env
NEXT = "OPENAI_API_KEY"
SHORTEST = 8
"""A shorter one is a dummy ('none', 'EMPTY') for a server that needs no key, and may occur in any text."""
MARK = "[secret:judge-key]"


class Key:
    """A key, and the variable that it comes from.

    >>> Key("sk-secret", "SCALEPAN_JUDGE_KEY")
    Key(SCALEPAN_JUDGE_KEY)
    """

    __slots__ = ("_text", "variable")

    def __init__(self, text: str, variable: str) -> None:
        self._text = text
        self.variable = variable

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def __bool__(self) -> bool:
        return bool(self._text)

    @property
    def fits_a_header(self) -> bool:
        """Whether it can be sent. Checked here, because an HTTP library's error would quote it."""
        return self._text.isascii() and self._text.isprintable() and " " not in self._text

    def headers(self) -> dict[str, str]:
        """The authorization header; empty without a key."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def scrub(self, text: str) -> str:
        """The text without the key: some servers repeat it when they refuse it."""
        return text.replace(self._text, MARK) if len(self._text) >= SHORTEST else text


def key_of(policy: JudgePolicy, env: Mapping[str, str] | None = None) -> Key:
    """The key in force; an empty one if there is none. If the policy names a variable, only that one is read."""
    env = os.environ if env is None else env
    for variable in (policy.key_env, *((NEXT,) if policy.key_env == DEFAULT else ())):
        if text := env.get(variable, "").strip():
            return Key(text, variable)
    return Key("", policy.key_env)
