"""Which characters are invisible: Unicode's default-ignorable ones, controls, fillers and blanks."""

import re

IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufff0-\ufffb"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # no width, other direction
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags: characters that only a model sees
)
"""For a class of a regular expression, as the three below."""
HIDDEN = f"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2800{IGNORED}"
JOINERS = "\u200c\u200d"
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""These two change the character before them, as in Persian, emoji and Japanese names."""
ACTING = re.compile(f"[{HIDDEN}\u2028\u2029]")
"""Characters that control a terminal or are invisible in it, without line ends and tabs."""
_VISIBLE = re.compile(f"[^\\s{HIDDEN}{JOINERS}{SELECTORS}]")


def has_visible(text: str) -> bool:
    """Whether there is anything to see.

    >>> has_visible(" \\u200b\\u3164"), has_visible("\\u200b.")
    (False, True)
    """
    return _VISIBLE.search(text) is not None
