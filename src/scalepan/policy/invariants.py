"""The small language of invariants: rules over the facts of a request (NOTES.md, "Memory": I(B)).

    action != 'forget' || actor in ['admin', 'owner']

A name that is no fact is false. What cannot be evaluated is an InvariantError, and whoever asked must then deny.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NoReturn

Facts = Mapping[str, Any]
Test = Callable[[Facts], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<name>[A-Za-z_][\w.]*)"
    r"|(?P<sign>==|!=|>=|<=|&&|\|\||[><!()\[\],]))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, ">": gt, ">=": ge, "<": lt, "<=": le}
_CONSTANTS = {"true": True, "false": False, "null": None}
LONGEST = 1000


class InvariantError(ValueError):
    """A rule that cannot be read, or not be evaluated."""


@lru_cache(maxsize=256)
def parse(rule: str) -> Test:
    """A rule as a function of facts.

    >>> parse("kind in ['fact', 'task'] && !draft")({"kind": "task"})
    True
    """
    if len(rule) > LONGEST:
        raise InvariantError(f"a rule of {len(rule):,} characters is too long; the limit is {LONGEST:,}")
    parser = _Parser(rule)
    test = parser.either()
    if parser.next:
        parser.fail()
    return test


def holds(rule: str, facts: Facts) -> bool:
    """Whether the rule is true of the facts; InvariantError if that cannot be said.

    >>> holds("count < 3", {"count": 2})
    True
    """
    result = parse(rule)(facts)
    if not isinstance(result, bool):
        raise InvariantError(f"'{rule}' is not true or false, but {result!r}")
    return result


class _Parser:
    """One token ahead. Loosest first: ||, &&, !, comparison, value."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.at = 0
        self.kind: str | None = None
        self.next = ""
        self.take()

    def take(self) -> str:
        taken = self.next
        match = _TOKEN.match(self.rule, self.at)
        if match is None:
            if self.rule[self.at :].strip():
                raise InvariantError(f"'{self.rule}' cannot be read from '{self.rule[self.at :].strip()[:20]}'")
            self.kind, self.next = None, ""
        else:
            self.at, self.kind, self.next = match.end(), match.lastgroup, match[match.lastgroup or 0]
        return taken

    def fail(self) -> NoReturn:
        found = f"'{self.next}'" if self.next else "the end"
        raise InvariantError(f"'{self.rule}': {found} is not expected there")

    def sign(self, wanted: str) -> bool:
        if self.kind == "sign" and self.next == wanted:
            self.take()
            return True
        return False

    def either(self) -> Test:
        tests = [self.both()]
        while self.sign("||"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda facts: any(_truth(test(facts)) for test in tests)

    def both(self) -> Test:
        tests = [self.negated()]
        while self.sign("&&"):
            tests.append(self.negated())
        return tests[0] if len(tests) == 1 else lambda facts: all(_truth(test(facts)) for test in tests)

    def negated(self) -> Test:
        if self.sign("!"):
            inner = self.negated()
            return lambda facts: not _truth(inner(facts))
        return self.comparison()

    def comparison(self) -> Test:
        left = self.value()
        if self.kind == "sign" and self.next in _COMPARE:
            compare = _COMPARE[self.take()]
            right = self.value()
            return lambda facts: _compared(compare, left(facts), right(facts))
        if self.kind == "name" and self.next == "in":
            self.take()
            right = self.value()
            return lambda facts: _within(left(facts), right(facts))
        return left

    def value(self) -> Test:
        if self.sign("("):
            inner = self.either()
            if not self.sign(")"):
                self.fail()
            return inner
        if self.sign("["):
            return self.items()
        if self.kind not in ("number", "text", "name") or self.next == "in":
            self.fail()
        kind, token = self.kind, self.take()
        if kind == "name" and token not in _CONSTANTS:
            return lambda facts: facts.get(token, False)
        constant = _CONSTANTS[token] if kind == "name" else float(token) if kind == "number" else token[1:-1]
        return lambda _: constant

    def items(self) -> Test:
        values: list[Test] = []
        while not self.sign("]"):
            if values and not self.sign(","):
                self.fail()
            values.append(self.value())
        return lambda facts: [value(facts) for value in values]


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvariantError(f"{value!r} is not true or false")
    return value


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if compare in (eq, ne):
        return _same(left, right) == (compare is eq)
    numbers = all(isinstance(side, (int, float)) and not isinstance(side, bool) for side in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise InvariantError(f"{left!r} and {right!r} have no order")
    return compare(left, right)


def _within(item: Any, group: Any) -> bool:
    if isinstance(group, str) and isinstance(item, str):
        return item in group
    if not isinstance(group, (list, tuple)):
        raise InvariantError(f"{group!r} is no list to be in")
    return any(_same(item, member) for member in group)


def _same(one: Any, other: Any) -> bool:
    """Equality in which false is not 0: a name that is no fact must not pass for a number."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
