"""Texts of logs as they may be shown: redacted by the policy in force, on one line, and not too long."""

from collections.abc import Iterable

import msgspec

from scalepan.errors import printable, shorten
from scalepan.inforce import redacted
from scalepan.redact import Redactor
from scalepan.score import Score
from scalepan.trace.overview.listing import HELD_TEXT, HeldText, held

OBJECTIVE, NAME, REASON = 300, 120, 200
"""How much of each is shown, in characters."""
_MARGIN = 1000
"""A secret at the end of a text that was cut may be too short to be found: so much of the end is never shown."""


class CleanTexts:
    """Redacts what is shown, and shortens it."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._names: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def text(self, text: str, limit: int) -> str:
        """A text on one line, redacted before it is shortened, so that no half of a secret is left."""
        clean = " ".join(redacted(text, self._redactor).split())
        return shorten(clean, limit)

    def held(self, text: HeldText, limit: int) -> str:
        """The beginning of a text of which only the beginning is held."""
        if not text.cut:
            return self.text(text.text, limit)
        clean = " ".join(redacted(text.text, self._redactor).split())[:-_MARGIN]
        return shorten(clean, limit) if len(clean) > limit else f"{shorten(clean, limit - 1)}…"

    def name(self, name: str) -> str:
        """A name that comes up again and again: of a tool, a project, a file."""
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self.held(held(name), NAME)
        return known

    def path(self, path: str) -> str:
        """A file or folder; the end of a long one says more than its beginning."""
        known = self._paths.get(path)
        if known is None:
            if len(path) > HELD_TEXT:
                return self.name(path)  # without its end, of which a part may be missing
            clean = printable(" ".join(redacted(path, self._redactor).split()))
            known = self._paths[path] = clean if len(clean) <= NAME else f"…{clean[1 - NAME :]}"
        return known

    def place(self, file: str, line: int) -> str:
        """A file and a line in it."""
        return f"{self.path(file)}:{line}" if line and file else self.path(file)

    def score(self, score: Score) -> Score:
        """The same score with redacted notes, which may quote the trace."""
        parts = (msgspec.structs.replace(part, note=self.text(part.note, REASON)) for part in score.parts)
        rules = (msgspec.structs.replace(rule, note=self.text(rule.note, REASON)) for rule in score.rules)
        return msgspec.structs.replace(score, parts=tuple(parts), rules=tuple(rules), details=None)


def listed(items: Iterable[str]) -> str:
    """Some things in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last
