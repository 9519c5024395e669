"""What a rule is: it looks at a view and says what stands where. Most are a pattern with words that lead to it.

A text is first asked whether it has the word at all, which costs next to nothing; the pattern is tried only where it
does. So a hundred rules are no slower than a few on ordinary text.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from scalepan.redact.view import View

# A token may stand behind a letter only where that letter belongs to an escape: `\nAKIA...`, `%3DAKIA...`.
_ESCAPED = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
# Looked at behind the first sign: a search for a sign is several times as fast as one for an edge.
LOOSE_EDGE_BEHIND = r"(?:(?<![0-9A-Za-z].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.))"
# A token without a longest length must not start inside its own letters: many starts would share one long run, and time
# would no longer be linear.
TIGHT_EDGE = rf"(?:(?<![0-9A-Za-z_-])|{_ESCAPED})"
END = "(?![0-9A-Za-z])"
# A loose edge to search for. Of what is behind it one letter is taken: its other signs may be the next token's edge.
_EDGE = r"[^0-9A-Za-z](?:(?<=\\)[nrt]|(?<=%)[0-9A-Fa-f]{2}|)"
# ghp_xxxxxxxx of a manual, and the keys that AWS ends with EXAMPLE.
_STAND_IN = re.compile(r"x{8,}|X{8,}|\*{4,}|EXAMPLE(?:KEY)?(?![0-9A-Za-z])")
AHEAD = 80
"""How much of what stands in front of a match can speak for it."""

Hit = tuple[int, int, str]
"""Something found: where it starts and ends in the view, and its kind. A plain tuple, as a text may have thousands."""


class Rule(NamedTuple):
    """Which kinds it can find, and how."""

    kinds: frozenset[str]
    find: Callable[[View], Iterator[Hit]]


class Token(NamedTuple):
    """What begins with one of some prefixes (parted by spaces) and goes on as `body` says.

    `open_end` says that the body has no longest length; it may then hold letters, digits, `_` and `-` only.
    """

    kind: str
    prefixes: str
    body: str
    open_end: bool = False


class Near(NamedTuple):
    """A pattern that is tried where a keyword stands.

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
    """Every place where `word` begins.

    >>> list(everywhere("a key, a key", "key"))
    [2, 9]
    """
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def tokens(rows: Iterable[Token]) -> Rule:
    """All tokens of a table as one rule and one pattern: a text is read once, however many prefixes there are."""
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
            # A match is the edge and the first letter.
            yield (match.end() - 1 if name in whole else start) + far, end + far, named[name].kind

    return Rule(frozenset(row.kind for row in named.values()), find)


def _body(row: Token, prefix: str, name: str) -> str:
    """What follows a prefix, as a group of that name; if only a part is to be cut, the group is that part."""
    # The edge before the prefix was a loose one.
    tight = f"(?<![_-]{re.escape(prefix)})" if row.open_end else ""
    inner = row.body.replace("(?P<value>", f"(?P<{name}>")
    return tight + (inner if inner != row.body else f"(?P<{name}>{row.body})") + END


def _tree(bodies: dict[str, str], first: str = "{}") -> str:
    """A pattern of what begins with one of the prefixes and goes on as it must, the longest prefix first.

    `first` frames what follows the first sign.

    >>> _tree({"a": "1", "ab": "2", "ac": "3", "d": "4"}, "<{}>")
    '(?:a<(?:b2|c3|1)>|d<4>)'
    """
    branches: dict[str, dict[str, str]] = {}
    for prefix, body in bodies.items():
        if prefix:
            branches.setdefault(prefix[0], {})[prefix[1:]] = body
    trees = [re.escape(sign) + first.format(_tree(rest)) for sign, rest in branches.items()]
    trees += [bodies[""]] if "" in bodies else []
    return trees[0] if len(trees) == 1 else f"(?:{'|'.join(trees)})"


def patterns(rows: Sequence[Near]) -> Rule:
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

    return Rule(frozenset(row.kind for row in rows), find)


def _in_long_words(row: Near, view: View) -> Iterator[tuple[int, int]]:
    for match, offset in view.tokens(row.pattern):
        start, end = match.span(cut_of(row.pattern))
        if _stands(row, view.text, start + offset, end + offset):
            yield start + offset, end + offset


def _at_words(row: Near, ahead: int, view: View) -> Iterator[tuple[int, int]]:
    """Only where the word stands; what was rejected may hold the next."""
    done = ahead
    for at in everywhere(view.lower, row.word):
        match = row.pattern.match(view.text, at - ahead) if at >= done else None
        if match:
            start, end = match.span(cut_of(row.pattern))
            if _stands(row, view.text, start, end):
                done = match.end() + ahead
                yield start, end


def _stands(row: Near, text: str, start: int, end: int) -> bool:
    if row.before is not None and not row.before.search(text[max(0, start - AHEAD) : start]):
        return False
    return row.check is None or row.check(text[start:end])


def cut_of(pattern: re.Pattern[str]) -> int:
    """The group of a match that is cut out: the one called `value` where there is one, else all."""
    return pattern.groupindex.get("value", 0)
