"""Every error, each in one line: what, which one, its value, what is legal, what to do.

ScalepanError
├── InputError          something given to Scalepan does not fit: file, line, id, path, problem
│   └── PolicyError     the same, in a policy
├── NotMeasuredError    a number was asked of a score that has none
├── MissingExtraError   an optional package is not installed; names the command that adds it
├── EncoderError        a text encoder was named and cannot be used
├── DeliveryError       what was to be sent was not taken by the address that the user named
└── StoreError          the store cannot be opened, reached, read or written
    ├── NotFoundError   what was named does not exist, or not for this caller
    ├── ConflictError   it conflicts with what is stored
    ├── BoundaryError   the policy forbids it
    └── TookTooLongError  a time limit passed
        └── UnansweredError  a call was sent and not answered, so it may still be applied; can be repeated safely

PolicyWarning           a policy, or a part of it, that is not trusted and therefore not used
RecordingWarning        a trace that was recorded could not be written

Each error has a code, which other programs see (contract memory.53).
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any


class ScalepanError(Exception):
    """Every error that Scalepan raises on purpose."""

    code = "INTERNAL"


class InputError(ScalepanError):
    """A value that does not fit, and where it is.

    >>> print(InputError("1.7 is not between 0 and 1", file="a.jsonl", line=17, id="kp:trace:42", path="outcome"))
    a.jsonl:17: trace kp:trace:42: outcome: 1.7 is not between 0 and 1
    """

    code = "VALIDATION_ERROR"
    noun = "trace"

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        id: str | None = None,  # noqa: A002 - the user's word for it
        path: str = "",
        more: Sequence[str] = (),
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.line = line
        self.id = id
        self.path = path
        self.more = tuple(more)
        """Further problems of the same thing, each as one line."""

    def at(self, *, file: str | None = None, line: int | None = None) -> "InputError":
        """The same error, with the place that only the reader knows."""
        self.file = file if file is not None else self.file
        self.line = line if line is not None else self.line
        return self

    @property
    def lines(self) -> list[str]:
        """Every problem, one per line; the first with its place."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        who = f"{self.noun} {shorten(self.id)}" if self.id else ""
        return [": ".join(part for part in (place, who, self.path, self.problem) if part), *self.more]

    def __str__(self) -> str:
        return f"{self.lines[0]} (and {len(self.more)} more)" if self.more else self.lines[0]


class PolicyError(InputError):
    """A policy that does not fit."""

    code = "POLICY_INVALID"


class NotMeasuredError(ScalepanError, ValueError):
    """A number was asked of a score that has none; 0 or 0.5 would be a lie."""


class PolicyWarning(UserWarning):
    """Part of a policy is not used, because the user did not name the file it is in."""


class RecordingWarning(UserWarning):
    """A recorded trace could not be written. The agent whose work it was goes on."""


class MissingExtraError(ScalepanError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'scalepan[{extra}]'")


class EncoderError(ScalepanError):
    """A text encoder was named and cannot be used."""


class DeliveryError(ScalepanError):
    """What was to be sent was not taken by the address that the user named."""


class StoreError(ScalepanError):
    """The store cannot be opened, reached, read or written."""


class NotFoundError(StoreError):
    """What was named does not exist, or not for this caller."""

    code = "NOT_FOUND"


class ConflictError(StoreError):
    """It conflicts with what is stored."""

    code = "CONFLICT"


class BoundaryError(StoreError):
    """The policy forbids it."""

    code = "BOUNDARY_DENIED"


class TookTooLongError(StoreError):
    """A time limit passed."""

    code = "TIMEOUT"


class UnansweredError(TookTooLongError):
    """A call that was sent and not answered in time: it is not known whether it was, or will be, applied.

    `retry()` sends the same call again, under the same request id, so that it is applied once however often it is
    sent. So does the same call with `request_id` in another process.
    """

    def __init__(self, problem: str, request_id: str, retry: Callable[[], Any]) -> None:
        super().__init__(problem)
        self.request_id = request_id
        self.retry = retry


def printable(text: str) -> str:
    """Text that is safe for a terminal: line breaks, escapes and lone surrogates are escaped.

    >>> printable("red \\x1b[31m")
    'red \\\\x1b[31m'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def own_words(value: object, show: Callable[[object], str] = repr) -> str:
    """The text of a value; the name of its type if that raises, so that callers do not fail."""
    try:
        return show(value)
    except Exception:
        return type(value).__name__


def named(error: BaseException) -> str:
    """An exception in one line.

    >>> named(KeyError("order 17"))
    "KeyError: 'order 17'"
    """
    name, said = type(error).__name__, shorten(own_words(error, str), 200)
    return name if said in ("", name) else f"{name}: {said}"


def shorten(value: object, limit: int = 60) -> str:
    """A value as an error shows it: complete if short, never a screenful, never a line break.

    >>> shorten("a" * 100, limit=10)
    'aaaaaaaaa…'
    """
    text = value if isinstance(value, str) else own_words(value)
    text = printable(text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words.

    >>> counted(1, "tool"), counted(1200, "tool"), counted(2, "query", "queries")
    ('1 tool', '1,200 tools', '2 queries')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def quoted(value: object) -> str:
    """A value in an error message: text in quotes, numbers bare, long ones shortened.

    >>> quoted("toolcall"), quoted(1.7), quoted(None), quoted(True)
    ("'toolcall'", '1.7', 'null', 'true')
    """
    match value:
        case str():
            return f"'{shorten(value)}'"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return shorten(value)


def did_you_mean(word: str, legal: Sequence[str]) -> str:
    """`; did you mean 'alpha'?`, or what is legal if nothing is close.

    >>> did_you_mean("aplha", ["alpha", "k_txt"])
    "; did you mean 'alpha'?"
    >>> did_you_mean("zzz", ["alpha", "k_txt"])
    '; known: alpha, k_txt'
    """
    near = get_close_matches(word, legal, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(legal)}" if legal else ""
