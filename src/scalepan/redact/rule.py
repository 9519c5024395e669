"""A rule searches a view and returns matches. Most rules are a table of patterns, each with a keyword.

The keyword is searched for first, which costs next to nothing, and the pattern is tried only where it occurs. So many
rules are nearly as fast as a few on ordinary text.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scalepan.redact.view import View

# A token may follow a letter only if the letter belongs to an escape: `\nAKIA...`, `%3DAKIA...`.
_ESCAPED = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
# Checked after the first character: searching for a character is several times faster than for a boundary.
LOOSE_EDGE_BEHIND = r"(?:(?<![0-9A-Za-z].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.))"
# A token without a maximum length must not start inside a run of its own characters: many starts would share one long
# run, and time would no longer be linear.
TIGHT_EDGE = rf"(?:(?<![0-9A-Za-z_-])|{_ESCAPED})"
END = "(?![0-9A-Za-z])"
# A loose boundary to search for. A match consumes only one character after it: the next may be another boundary.
_EDGE = r"[^0-9A-Za-z](?:(?<=\\)[nrt]|(?<=%)[0-9A-Fa-f]{2}|)"
# ghp_xxxxxxxx in a manual, and AWS keys that end with EXAMPLE.
_STAND_IN = re.compile(r"x{8,}|X{8,}|\*{4,}|EXAMPLE(?:KEY)?(?![0-9A-Za-z])")
AHEAD = 80
"""How many characters before a match `KeywordPattern.before` sees."""

Hit = tuple[int, int, str]
"""A match: start and end in the view, and its kind. A plain tuple, because a text may have thousands."""


class RedactionRule(NamedTuple):
    """The kinds that a rule can find, and its search function."""

    kinds: frozenset[str]
    find: Callable[[View], Iterator[Hit]]


class TokenRule(NamedTuple):
    """A token that begins with one of the prefixes (separated by spaces) and continues with `body`.

    `open_end` says that the body has no maximum length; it must then consist of letters, digits, `_` and `-` only.
    """

    kind: str
    prefixes: str
    body: str
    open_end: bool = False


class KeywordPattern(NamedTuple):
    """A pattern that is tried at the occurrences of a keyword.

    `word` is the keyword in lower case, and a match begins `ahead` characters before it. A positive `length` means that
    the keyword is part of a long word (`View.long`), and that the text has a word of at least that length. Without
    `ahead` the keyword may be anywhere in the text, and the whole match is inside a long word. `check` makes the final
    decision on a match; `before` must match the text in front of it.
    """

    kind: str
    word: str
    length: int
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    before: re.Pattern[str] | None = None
    ahead: int | None = None


def everywhere(text: str, word: str) -> Iterator[int]:
    """The positions of `word`.

    >>> list(everywhere("a key, a key", "key"))
    [2, 9]
    """
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def tokens(rows: Iterable[TokenRule]) -> RedactionRule:
    """All tokens of a table as one rule with one pattern: a text is read once for any number of prefixes."""
    table = [(row, prefix) for row in rows for prefix in row.prefixes.split()]
    named = {f"t{number}": row for number, (row, _) in enumerate(table)}
    bodies = {prefix: _body(row, prefix, name) for (row, prefix), name in zip(table, named, strict=True)}
    token = re.compile(_EDGE + _tree(bodies, "(?={})"))
    whole = {name for name, row in named.items() if "(?P<value>" not in row.body}

    def find(view: View) -> Iterator[Hit]:
        doubtful: bool | None = None
        for match, far in view.tokens(token):
            if doubtful is None:
                doubtful = any(run in view.text for run in ("xxxxxxxx", "XXXXXXXX", "****", "EXAMPLE"))
            name = str(match.lastgroup)
            start, end = match.span(name)
            if doubtful and _STAND_IN.search(match.string, start, end):
                continue
            # A match consists of the boundary and the first letter.
            yield (match.end() - 1 if name in whole else start) + far, end + far, named[name].kind

    return RedactionRule(frozenset(row.kind for row in named.values()), find)


def _body(row: TokenRule, prefix: str, name: str) -> str:
    """A pattern for the text after a prefix; the group of that name is the part to cut."""
    # The boundary before the prefix was a loose one.
    tight = f"(?<![_-]{re.escape(prefix)})" if row.open_end else ""
    inner = row.body.replace("(?P<value>", f"(?P<{name}>")
    return tight + (inner if inner != row.body else f"(?P<{name}>{row.body})") + END


def _tree(bodies: dict[str, str], first: str = "{}") -> str:
    """A pattern for the prefixes with their bodies, as a tree; the longest prefix is tried first.

    `first` is a format for the pattern after the first character.

    >>> _tree({"a": "1", "ab": "2", "ac": "3", "d": "4"}, "<{}>")
    '(?:a<(?:b2|c3|1)>|d<4>)'
    """
    branches: dict[str, dict[str, str]] = {}
    for prefix, body in bodies.items():
        if prefix:
            branches.setdefault(prefix[0], {})[prefix[1:]] = body
    trees = [re.escape(character) + first.format(_tree(rest)) for character, rest in branches.items()]
    trees += [bodies[""]] if "" in bodies else []
    return trees[0] if len(trees) == 1 else f"(?:{'|'.join(trees)})"


def patterns(rows: Sequence[KeywordPattern]) -> RedactionRule:
    """All patterns of a table as one rule."""
    anywhere = [(row.word, row) for row in rows if not row.length]
    in_long = [(row.length, row.word, row) for row in rows if row.length]
    shortest = min([length for length, _, _ in in_long], default=sys.maxsize)

    def find(view: View) -> Iterator[Hit]:
        # Most texts have none of the keywords, so this is where the time goes.
        lower, longest = view.lower, view.longest
        present = [row for word, row in anywhere if word in lower]
        if longest >= shortest:
            fit = [(word, row) for length, word, row in in_long if length <= longest]
            present += [row for word, row in fit if word in (view.whole if row.ahead is None else view.long)]
        for row in present:
            for start, end in _in_long_words(row, view) if row.ahead is None else _at_words(row, row.ahead, view):
                yield start, end, row.kind

    return RedactionRule(frozenset(row.kind for row in rows), find)


def _in_long_words(row: KeywordPattern, view: View) -> Iterator[tuple[int, int]]:
    for match, offset in view.tokens(row.pattern):
        start, end = match.span(cut_of(row.pattern))
        if _stands(row, view.text, start + offset, end + offset):
            yield start + offset, end + offset


def _at_words(row: KeywordPattern, ahead: int, view: View) -> Iterator[tuple[int, int]]:
    """Matches at the keyword; a rejected match may contain the next one."""
    done = ahead
    for at in everywhere(view.lower, row.word):
        match = row.pattern.match(view.text, at - ahead) if at >= done else None
        if match:
            start, end = match.span(cut_of(row.pattern))
            if _stands(row, view.text, start, end):
                done = match.end() + ahead
                yield start, end


def _stands(row: KeywordPattern, text: str, start: int, end: int) -> bool:
    if row.before is not None and not row.before.search(text[max(0, start - AHEAD) : start]):
        return False
    return row.check is None or row.check(text[start:end])


def cut_of(pattern: re.Pattern[str]) -> int:
    """The group of a match that is cut: `value` if the pattern has it, otherwise the whole match."""
    return pattern.groupindex.get("value", 0)
