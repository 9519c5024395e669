"""Secrets and personal data out of text: all rules at once, the longest match names it, until nothing is left."""

from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter

from scalepan.errors import InputError, did_you_mean
from scalepan.policy.redact import CATEGORIES, Category, Redact
from scalepan.redact.addresses import ADDRESSES
from scalepan.redact.again import Excerpt
from scalepan.redact.assignments import ASSIGNMENTS
from scalepan.redact.contacts import CONTACTS
from scalepan.redact.edges import widened
from scalepan.redact.finding import Finding, Hashes, Redacted, mark
from scalepan.redact.keys import KEYS
from scalepan.redact.numbers import NUMBERS
from scalepan.redact.phones import PHONES
from scalepan.redact.plain import MARK, Plain
from scalepan.redact.providers import PROVIDERS
from scalepan.redact.rule import Hit
from scalepan.redact.userrules import as_rule
from scalepan.redact.view import Cut, View, marks

RULES = [*KEYS, *PROVIDERS, *ADDRESSES, *ASSIGNMENTS, *CONTACTS, *NUMBERS, *PHONES]
MARKED = ""
"""What a cut is called that an earlier redaction made."""
PASSES = 8
"""How often a text is searched before all of it is cut: a cut can uncover a match, though it rarely does."""

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
        self._marks = {kind: mark(kind, category) for kind, category in self._categories.items()}
        self._order = {kind: number for number, kind in enumerate(self._categories)}
        self._on = _chosen(self._categories, only) & {kind for kind in self._categories if policy.looks_for(kind)}
        users = [as_rule(rule, policy.timeout_ms) for rule in policy.rules]
        self._rules = [rule for rule in (*RULES, *users) if rule.kinds & self._on]
        self._has_users = bool(users)
        self._key = key

    def redact(self, text: str) -> Redacted:
        """The text with a mark in place of everything found, and what was found where in the original."""
        findings = self.findings(text)
        if not findings:
            return Redacted(text)
        pieces, at = [], 0
        for finding in findings:
            pieces.append(text[at : finding.start])
            pieces.append(self._marks[finding.kind])
            at = finding.end
        pieces.append(text[at:])
        return Redacted("".join(pieces), findings)

    def findings(self, text: str) -> tuple[Finding, ...]:
        """What is in the text that should not be, in its order."""
        cuts: list[Cut] = [(start, end, MARKED) for start, end in marks(text)]
        view = View(Plain(text), cuts)
        for _ in range(PASSES):
            new = self._search(view)
            if not new:
                break
            cuts = self._merge([*cuts, *new]) if cuts else new
            # A user's rule may need all of the text.
            view = View(view.plain, cuts) if self._has_users else Excerpt(cuts, view)
        else:
            # Only rules that feed on their own marks get here. What cannot be cleaned is not let through.
            cuts = [(0, len(text), new[0][2])]
        categories, hashes = self._categories, Hashes(self._key)
        return tuple(
            [
                Finding(kind, categories[kind], start, end, hashes[text[start:end]])
                for start, end, kind in cuts
                if kind != MARKED
            ]
        )

    def _search(self, view: View) -> list[Cut]:
        """One look at the text, past what is cut already."""
        hits = [hit for rule in self._rules for hit in rule.find(view)]
        if not self._on.issuperset(map(_kind, hits)):
            hits = [hit for hit in hits if hit[2] in self._on]
        if self._has_users and MARK in view.text:
            hits = list(_between_marks(view.text, hits))
        found = self._merge(view.places(hits))
        return found if view.plain.never_joined else self._merge(widened(view.plain.original, found))

    def _merge(self, cuts: list[Cut]) -> list[Cut]:
        """Cuts that overlap as one, so that nothing found stays; the strongest of them names it."""
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
        """What names a place that two found: the longer, then the earlier rule; but a secret before all else.

        A secret inside an e-mail address is still a secret: pii may be kept by policy, a secret never.
        """
        start, end, kind = cut
        if kind == MARKED:
            return False, False, 0, 0
        return True, self._categories[kind] == "secret", end - start, -self._order[kind]


def _chosen(categories: dict[str, Category], only: Collection[str]) -> set[str]:
    """The kinds that some names stand for: a kind for itself, `secret` and `pii` for all of theirs, nothing for all."""
    for name in only:
        if name not in categories and name not in categories.values():
            raise InputError(f"no kind '{name}'{did_you_mean(name, ['secret', 'pii', *categories])}")
    return {kind for kind, category in categories.items() if not only or kind in only or category in only}


def _between_marks(text: str, hits: Iterable[Hit]) -> Iterator[Hit]:
    """What of each hit is not cut already; a user's rule may reach across a mark."""
    for hit in hits:
        start, end, kind = hit
        if text.find(MARK, start, end) < 0:
            yield hit
            continue
        for piece in text[start:end].split(MARK):
            if piece:
                yield start, start + len(piece), kind
            start += len(piece) + 1
