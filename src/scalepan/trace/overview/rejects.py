"""Why were records rejected? The same problem in the same field is one reason, whatever value it names."""

import re

from scalepan.errors import InputError
from scalepan.trace.overview.listing import HeldText, held

MOST_REASONS = 100
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER = re.compile(r"-?\d[\d.,]*(?:[eE][-+]?\d+)?")
_KEY_CHARACTERS = 400


class RejectReason:
    """A reason, how often it came up, and the first record that it came up with."""

    __slots__ = ("count", "example", "file", "line")

    def __init__(self, error: InputError) -> None:
        self.count = 0
        self.file = error.file or ""
        self.line = error.line or 0
        who = f"{error.path}: {error.problem}" if error.path else error.problem
        self.example: HeldText = held(who)


class Rejects:
    """The reasons so far."""

    def __init__(self) -> None:
        self.count = 0
        self.others = 0
        """Records with a reason beyond the first `MOST_REASONS`."""
        self._reasons: dict[tuple[str, str], RejectReason] = {}

    def add(self, error: InputError) -> None:
        """Count one."""
        self.count += 1
        key = _kind(error.path), _kind(error.problem)
        reason = self._reasons.get(key)
        if reason is None:
            if len(self._reasons) >= MOST_REASONS:
                self.others += 1
                return
            reason = self._reasons[key] = RejectReason(error)
        reason.count += 1

    @property
    def reasons(self) -> list[RejectReason]:
        """The most frequent first."""
        return sorted(self._reasons.values(), key=lambda reason: -reason.count)


def _kind(text: str) -> str:
    """A text without the values in it.

    >>> _kind("steps[3].type: 'toolcall' is not one of"), _kind("1.7 is not between 0 and 1")
    ('steps[#].type: # is not one of', '# is not between # and #')
    """
    return _NUMBER.sub("#", _QUOTED.sub("#", text[:_KEY_CHARACTERS]))
