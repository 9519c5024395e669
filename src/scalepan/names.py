"""How ids and labels may be spelled, and what is removed from text before it is displayed.

An id or a label is a key: it decides whose data is found, it is printed, and it is stored unredacted where text is not.
So it has a length and a grammar that leaves no room for a terminal escape, a hidden character or a page of text.
Letters of every script are legal: a tenant may be called 株式会社アオイ.
"""

import re
from typing import Annotated, Final

import msgspec

from scalepan.errors import InputError, quoted

LONGEST: Final = 200
"""The longest id or label, in characters."""

# Classes of a regular expression, spelled so that Python and JSON Schema (ECMAScript with its flag u) read them alike.
# Invisible: controls, blanks, soft hyphen, fillers, direction, joiners, selectors, surrogates, private use, tags.
_UNSEEN = (
    r"\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u2800\u3000\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U000e0000-\U0010ffff"
)
_NOT_IN_LABELS = _UNSEEN + r'!"$%*;<>?\[\\\]^`{|}~'
_NOT_IN_IDS = _NOT_IN_LABELS + r" &'(),"
# Python's $ also matches before a line break at the end.
_END = r"(?![\s\S])"


def _spelled(pattern: str, legal: str) -> msgspec.Meta:
    return msgspec.Meta(min_length=1, max_length=LONGEST, pattern=pattern, extra={"legal": legal})


_ID: Final = _spelled(f"^[^{_NOT_IN_IDS}]+{_END}", f"letters, digits and . _ : / @ + # = -, at most {LONGEST}")
_TRACE_ID: Final = _spelled(
    f"^[A-Za-z0-9._:/@+#=-]+{_END}", f"ASCII letters, digits and . _ : / @ + # = -, at most {LONGEST}"
)
_LABEL: Final = _spelled(
    f"^[^{_NOT_IN_LABELS} ](?:[^{_NOT_IN_LABELS}]*[^{_NOT_IN_LABELS} ])?{_END}",
    f"letters, digits, spaces inside and . _ : / @ + # = & ' ( ) , -, at most {LONGEST}",
)

Id = Annotated[str, _ID]
"""The id of a claim, a vote, a context, a decision: no spaces."""
TraceId = Annotated[str, _TRACE_ID]
"""The id of a trace or a request, as sent in headers."""
Label = Annotated[str, _LABEL]
"""A tenant, a project, a session, an actor: spaces only inside."""


def check_id(text: str, path: str = "id") -> str:
    """The id itself; InputError names `path` if it is not spelled as one."""
    return _checked(text, _ID, path)


def check_trace_id(text: str, path: str = "trace_id") -> str:
    """The trace id itself; InputError names `path` if it is not spelled as one."""
    return _checked(text, _TRACE_ID, path)


def check_label(text: str, path: str) -> str:
    """The label itself; InputError names `path` if it is not spelled as one.

    >>> check_label("株式会社アオイ", "tenant")
    '株式会社アオイ'
    >>> check_label("acme\\x1b[2J", "tenant")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    scalepan.errors.InputError: tenant: 'acme\\x1b[2J' has a character that is not legal here; legal: letters, ...
    """
    return _checked(text, _LABEL, path)


def _checked(text: str, spelled: msgspec.Meta, path: str) -> str:
    problem = misspelled(text, spelled.pattern or "", (spelled.extra or {})["legal"])
    if problem is not None:
        raise InputError(problem, path=path)
    return text


def misspelled(text: str, pattern: str, legal: str) -> str | None:
    """What is wrong with an id or a label, or None."""
    if not text:
        return "is empty"
    if len(text) > LONGEST:
        return f"{quoted(text)} has {len(text):,} characters; at most {LONGEST} are legal"
    if re.search(pattern, text) is None:
        return f"{quoted(text)} has a character that is not legal here; legal: {legal}"
    return None


# Whole sequences first: an escape alone would leave its letters behind as noise.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colors, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
)
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Embeddings, overrides and isolates of direction, and what no encoding can write. Direction marks stay: Arabic and
# Hebrew need them, and they reorder no more than a space.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ANY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def without_controls(text: str) -> str:
    """Text that is safe for a terminal and displays in reading order; line breaks and tabs stay.

    >>> without_controls("a \\x1b[31mred\\x1b[0m word\\x07, \\u202etxt\\u2028next")
    'a red word, txt\\nnext'
    """
    if text.isprintable() or _ANY.search(text) is None:
        return text
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text)))
