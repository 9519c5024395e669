"""Applies all rules to a text until nothing more is found; the longest of overlapping matches gives the kind."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter

from scalepan.errors import InputError, did_you_mean
from scalepan.policy.redact import CATEGORIES, Category, Redact
from scalepan.redact.addresses import ADDRESSES
from scalepan.redact.again import Excerpt
from scalepan.redact.assignments import ASSIGNMENTS
from scalepan.redact.commands import COMMANDS
from scalepan.redact.contacts import CONTACTS
from scalepan.redact.edges import widened
from scalepan.redact.finding import Finding, Hashes, Redacted, placeholder
from scalepan.redact.headers import HEADERS
from scalepan.redact.inserts import INSERTS
from scalepan.redact.jsontext import Quotes, documents, fitted, inner
from scalepan.redact.keys import KEYS
from scalepan.redact.nearby import NEARBY
from scalepan.redact.numbers import NUMBERS
from scalepan.redact.pairs import PAIRS
from scalepan.redact.phones import PHONES
from scalepan.redact.plain import CUT, Plain
from scalepan.redact.providers import PROVIDERS
from scalepan.redact.repeats import is_telling, repeats
from scalepan.redact.rule import Hit
from scalepan.redact.tables import TABLES
from scalepan.redact.userrules import as_rule
from scalepan.redact.view import Cut, View, placed, placeholders, without

RULES = [
    *(*KEYS, *PROVIDERS, *ADDRESSES, *HEADERS, *COMMANDS, *ASSIGNMENTS, *PAIRS, *TABLES, *INSERTS, *NEARBY),
    *(*CONTACTS, *NUMBERS, *PHONES),
]
EARLIER = ""
"""The kind of a cut that an earlier redaction made."""
PASSES = 8
"""Maximum number of searches before the whole text is cut. A cut can make another match possible, but rarely does."""

_kind = itemgetter(2)


class Redactor:
    """Redacts under one policy.

    >>> Redactor().redact("mail taro@example.jp or call 03-1234-5678").text
    'mail [pii:email] or call [pii:phone]'
    """

    def __init__(self, policy: Redact | None = None, *, only: Collection[str] = (), key: bytes | None = None) -> None:
        """`only` narrows this redactor to some kinds or categories; `key` makes hashes comparable between processes."""
        policy = policy or Redact()
        self._categories: dict[str, Category] = {**CATEGORIES, **{rule.name: rule.category for rule in policy.rules}}
        self._placeholders = {kind: placeholder(kind, category) for kind, category in self._categories.items()}
        self._order = {kind: number for number, kind in enumerate(self._categories)}
        self._on = _chosen(self._categories, only) & {kind for kind in self._categories if policy.looks_for(kind)}
        users = [as_rule(rule, policy.timeout_ms) for rule in policy.rules]
        self._rules = [rule for rule in (*RULES, *users) if rule.kinds & self._on]
        self._has_users = bool(users)
        self._key = key

    def redact(self, text: str, known: Mapping[str, str] | None = None) -> Redacted:
        """The text with placeholders, and the findings with their positions in the original.

        JSON stays JSON: the placeholder of a number is a string. `known` has values that were found before, in another
        part of the same text, each with its kind.
        """
        cuts, quotes = self._cuts(text, self._given(text, known or {}))
        findings = self._findings(text, cuts)
        if not findings:
            return Redacted(text)
        pieces, at = [], 0
        for finding in findings:
            quote = quotes.get(finding.start, "")
            pieces += [text[at : finding.start], quote, self._placeholders[finding.kind], quote]
            at = finding.end
        pieces.append(text[at:])
        return Redacted("".join(pieces), findings)

    def findings(self, text: str) -> tuple[Finding, ...]:
        """The secrets and personal data in the text, in order."""
        return self._findings(text, self._cuts(text, self._given(text, {}))[0])

    def _given(self, text: str, known: Mapping[str, str]) -> list[Cut]:
        """Cuts before the first search: placeholders of an earlier redaction, and known values."""
        cuts: list[Cut] = [(start, end, EARLIER) for start, end in placeholders(text)]
        return self._also(Plain(text), cuts, known) if known else cuts

    def _findings(self, text: str, cuts: list[Cut]) -> tuple[Finding, ...]:
        categories, hashes = self._categories, Hashes(self._key)
        return tuple(
            [
                Finding(kind, categories[kind], start, end, hashes[text[start:end]])
                for start, end, kind in cuts
                if kind != EARLIER
            ]
        )

    def _cuts(self, text: str, known: list[Cut], depth: int = 0) -> tuple[list[Cut], Quotes]:
        """All cuts, including the known ones; JSON stays valid."""
        plain = Plain(text)
        cuts = self._found(plain, self._merge(known))
        parts = documents(text) if cuts or "\\" in text else []
        if not parts:
            return cuts, {}
        fit: list[Cut] | None = None
        for _ in range(PASSES):
            more, quotes = inner(text, parts, cuts, self._cuts, depth)
            before, (fit, own) = fit, fitted(text, parts, self._merge([*cuts, *more]))
            fit = self._merge(fit)
            quotes |= own
            if fit == before:
                break
            cuts = self._found(plain, fit)
        return fit or [], quotes

    def _found(self, plain: Plain, cuts: list[Cut]) -> list[Cut]:
        """These cuts and all others, found by repeated searches."""
        view = View(plain, cuts)
        for _ in range(PASSES):
            new = self._search(view)
            if not new:
                return cuts
            cuts = self._with_repeats(plain, self._merge([*cuts, *new]) if cuts else new, new)
            # A user's rule may need the whole text.
            view = View(plain, cuts) if self._has_users else Excerpt(cuts, view)
        # Only rules that match their own placeholders get here. A text that cannot be cleaned is not returned.
        return [(0, len(plain.original), new[0][2])]

    def _search(self, view: View) -> list[Cut]:
        """One search of the text outside of the cuts."""
        hits = [hit for rule in self._rules for hit in rule.find(view)]
        if not self._on.issuperset(map(_kind, hits)):
            hits = [hit for hit in hits if hit[2] in self._on]
        if self._has_users and CUT in view.text:
            hits = list(_between_cuts(view.text, hits))
        found = self._merge(view.places(hits))
        return found if view.plain.never_joined else self._merge(widened(view.plain.original, found))

    def _with_repeats(self, plain: Plain, cuts: list[Cut], new: list[Cut]) -> list[Cut]:
        """The cuts, and every other occurrence of the values of the new ones."""
        spans = [(plain.in_text(start), plain.in_text(end), kind) for start, end, kind in new]
        values = {plain.text[start:end]: kind for start, end, kind in reversed(spans)}
        return self._also(plain, cuts, {value: kind for value, kind in values.items() if is_telling(value)})

    def _also(self, plain: Plain, cuts: list[Cut], values: Mapping[str, str]) -> list[Cut]:
        """The cuts, and every occurrence of these values elsewhere."""
        if not values:
            return cuts
        out = [(plain.in_text(start), plain.in_text(end), kind) for start, end, kind in cuts]
        hits = list(repeats(without(plain.text, out), values))
        if not hits:
            return cuts
        found = self._merge(plain.in_original(placed(hits, out)))
        return self._merge([*cuts, *(found if plain.never_joined else widened(plain.original, found))])

    def _merge(self, cuts: list[Cut]) -> list[Cut]:
        """Merges overlapping cuts; the strongest gives the kind."""
        cuts.sort()
        merged: list[Cut] = []
        reached = -1
        for cut in cuts:
            if cut[0] >= reached:
                merged.append(cut)
                reached = cut[1]
            else:
                merged[-1] = self._as_one(merged[-1], cut)
                reached = merged[-1][1]
        return merged

    def _as_one(self, one: Cut, other: Cut) -> Cut:
        kind = one[2] if one[2] == other[2] else max(one, other, key=self._strength)[2]
        return one[0], max(one[1], other[1]), kind

    def _strength(self, cut: Cut) -> tuple[bool, bool, int, int]:
        """Sort key for overlapping cuts: secrets first, then the longer, then the earlier kind.

        A secret inside an e-mail address is still a secret: pii may be kept by policy, a secret never.
        """
        start, end, kind = cut
        if kind == EARLIER:
            return False, False, 0, 0
        return True, self._categories[kind] == "secret", end - start, -self._order[kind]


def _chosen(categories: dict[str, Category], only: Collection[str]) -> set[str]:
    """The kinds for these names: a kind, or a category with all of its kinds. No names mean all kinds."""
    for name in only:
        if name not in categories and name not in categories.values():
            raise InputError(f"no kind '{name}'{did_you_mean(name, ['secret', 'pii', *categories])}")
    return {kind for kind, category in categories.items() if not only or kind in only or category in only}


def _between_cuts(text: str, hits: Iterable[Hit]) -> Iterator[Hit]:
    """The parts of each hit between cuts; a user's rule may match across a cut."""
    for hit in hits:
        start, end, kind = hit
        if text.find(CUT, start, end) < 0:
            yield hit
            continue
        for piece in text[start:end].split(CUT):
            if piece:
                yield start, start + len(piece), kind
            start += len(piece) + 1
