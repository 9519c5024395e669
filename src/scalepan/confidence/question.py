"""What a person is asked: the call with its arguments, and why.

An agent chooses the words: the action, the names of arguments, their values. So each stands in quotes that it cannot
close, is cut by itself, and none can push another out of sight.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from scalepan.confidence.decide import ActionDecision
from scalepan.confidence.evidence import plain
from scalepan.errors import own_words, printable, shorten
from scalepan.score import Score

SHOWN_ACTION, SHOWN_NAME, SHOWN_VALUE = 500, 64, 120
SHOWN_ARGUMENTS = 20
LONGEST = 10_000
"""Characters of an action or of an argument that are looked at for secrets; the rest is neither shown nor kept."""
# A text in quotes must not close them.
_INSIDE_QUOTES = str.maketrans('“”„‟❝❞〝〞＂"', "‘’‘‘‘’‘’''")
_NAME = re.compile(r"[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){0,3}", re.ASCII)

Redact = Callable[[str], str]


def call_text(action: str, args: Mapping[str, Any] | None, redact: Redact) -> str:
    """An action as a call, without secrets, on one line.

    >>> call_text("refund", {"order": 17, "note": 'as "agreed"'}, lambda text: text)
    'refund(order=17, note="as \\'agreed\\'")'
    >>> call_text("refund order 17", None, lambda text: text)
    '"refund order 17"'
    """
    named = _NAME.fullmatch(action) is not None
    shown = action if named else _quoted(redact(action[:LONGEST]), SHOWN_ACTION)
    if args is None:
        return shown
    pairs = [_pair(name, value, redact) for name, value in list(args.items())[:SHOWN_ARGUMENTS]]
    if len(args) > SHOWN_ARGUMENTS:
        pairs.append(f"… and {len(args) - SHOWN_ARGUMENTS} more that are not shown")
    return f"{shown}({', '.join(pairs)})"


def question_text(call: str, because: str) -> str:
    """The question.

    >>> print(question_text("refund(order=17)", "The agent is 52 % confident; below 70 % it must ask."))
    Approve refund(order=17)? The agent is 52 % confident; below 70 % it must ask.
    """
    return f"Approve {printable(call)}? {printable(because)}"


class Question(NamedTuple):
    """What a person is asked."""

    id: str
    action: str
    score: Score
    decision: ActionDecision
    timeout_seconds: float
    call: str = ""
    """The action with its arguments, without secrets."""
    because: str = ""
    """Why a person is asked."""

    def __str__(self) -> str:
        return question_text(self.call or _quoted(self.action, SHOWN_ACTION), self.because or self.decision.reason)

    def _repr_html_(self) -> str:
        """The question and the waterfall of its score, for notebooks."""
        from scalepan.draw.notebook import sentence_html

        return sentence_html(str(self), self.score)


def _pair(name: object, value: Any, redact: Redact) -> str:
    """`name=value`. It is redacted with its name, which may be what tells that the value is a secret."""
    key = name if isinstance(name, str) else own_words(name)
    shown = key if key.isidentifier() and len(key) <= SHOWN_NAME and key.isprintable() else _quoted(key, SHOWN_NAME)
    said = plain(value)
    text = said[:LONGEST] if isinstance(said, str) else _data(said)
    cut = redact(f"{key}={text}")
    rest = cut[len(key) + 1 :] if cut.startswith(f"{key}=") else cut
    if isinstance(said, str):
        return f"{shown}={_quoted(rest, SHOWN_VALUE)}"
    return f"{shown}={shorten(rest.translate(_INSIDE_QUOTES), SHOWN_VALUE)}"


def _data(value: Any) -> str:
    try:
        if value is None or isinstance(value, (bool, int, float)):
            return repr(value)
        return msgspec.json.encode(value).decode()[:LONGEST]
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return own_words(value)[:LONGEST]  # also a number of more digits than Python writes


def _quoted(text: str, limit: int) -> str:
    return f'"{shorten(text.translate(_INSIDE_QUOTES), limit)}"'
