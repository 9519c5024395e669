"""The small language of invariants: rules over the facts of a request and of each claim that it would read.

    action != 'forget' || actor in ['admin', 'owner']
    claim.kind != 'rumor' || claim.age_days < 30

A name that does not exist is an error when the rule is checked. One that the request does not supply, such as `actor`
in a call without an actor, can only be compared with null; any other use of it cannot be evaluated. What cannot be
evaluated is an InvariantError, and the caller must then deny.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NoReturn

from scalepan.errors import did_you_mean

Facts = Mapping[str, Any]
Test = Callable[[Facts], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<name>[A-Za-z_][\w.]*)"
    r"|(?P<sign>==|!=|>=|<=|&&|\|\||[><!()\[\],]))"
)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, ">": gt, ">=": ge, "<": lt, "<=": le}
_CONSTANTS = {"true": True, "false": False, "null": None}
LONGEST = 1000


class InvariantError(ValueError):
    """A rule that cannot be parsed or evaluated."""


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    """A literal value."""

    value: Any

    def __call__(self, _: Facts) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class NameTerm:
    """A fact by its name."""

    name: str

    def __call__(self, facts: Facts) -> Any:
        value = facts.get(self.name)
        if value is None:
            raise InvariantError(f"'{self.name}' is not known")
        return value


@dataclass(frozen=True, slots=True)
class Items:
    """A literal list."""

    items: tuple["Node", ...]

    def __call__(self, facts: Facts) -> Any:
        return [item(facts) for item in self.items]


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two values."""

    sign: str
    left: "Node"
    right: "Node"

    def __call__(self, facts: Facts) -> Any:
        left, right = self.left, self.right
        if self.sign in ("==", "!=") and ConstantTerm(None) in (left, right):
            # The only legal use of an unknown fact: comparing it with null.
            other = right if left == ConstantTerm(None) else left
            known = facts.get(other.name) if isinstance(other, NameTerm) else other(facts)
            return (known is None) == (self.sign == "==")
        return compared(self.sign, left(facts), right(facts))


@dataclass(frozen=True, slots=True)
class Within:
    """Whether a value is in a list, or a text in a text."""

    item: "Node"
    group: "Node"

    def __call__(self, facts: Facts) -> Any:
        return within(self.item(facts), self.group(facts))


@dataclass(frozen=True, slots=True)
class Negated:
    """The opposite."""

    of: "Node"

    def __call__(self, facts: Facts) -> Any:
        return not truth(self.of(facts))


@dataclass(frozen=True, slots=True)
class Either:
    """Any of several, evaluated from the left until one is true."""

    of: tuple["Node", ...]

    def __call__(self, facts: Facts) -> Any:
        return any(truth(test(facts)) for test in self.of)


@dataclass(frozen=True, slots=True)
class Both:
    """All of several, evaluated from the left until one is false."""

    of: tuple["Node", ...]

    def __call__(self, facts: Facts) -> Any:
        return all(truth(test(facts)) for test in self.of)


Node = ConstantTerm | NameTerm | Items | Compared | Within | Negated | Either | Both


@lru_cache(maxsize=256)
def parse(rule: str) -> Node:
    """A rule as a function of facts.

    >>> parse("kind in ['fact', 'task'] && !draft")({"kind": "task", "draft": False})
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
    """Whether the rule is true of the facts; InvariantError if it cannot be evaluated.

    >>> holds("count < 3", {"count": 2})
    True
    """
    result = parse(rule)(facts)
    if not isinstance(result, bool):
        raise InvariantError(f"'{rule}' is not true or false, but {result!r}")
    return result


def names(node: Node) -> Iterator[str]:
    """Every name that a rule mentions.

    >>> list(names(parse("actor in ['a', x] || !(n > 2)")))
    ['actor', 'x', 'n']
    """
    match node:
        case NameTerm(name):
            yield name
        case Items(inner) | Either(inner) | Both(inner):
            for one in inner:
                yield from names(one)
        case Negated(one):
            yield from names(one)
        case Compared(_, left, right) | Within(left, right):
            yield from names(left)
            yield from names(right)


def check_names(node: Node, known: Collection[str], families: Collection[str] = ()) -> None:
    """InvariantError for a name that is not known, and does not belong to a family such as `facts.`."""
    for name in names(node):
        if name not in known and not any(name.startswith(family) and name != family for family in families):
            legal = ", ".join([*known, *(f"{family}NAME" for family in families)])
            raise InvariantError(f"there is no '{name}'{did_you_mean(name, [*known])}; names are {legal}")


def names_in(rule: str) -> set[str]:
    """The facts that a rule mentions.

    >>> sorted(names_in("action == 'refund' && !(args.amount in [1, true])"))
    ['action', 'args.amount']
    """
    return set(names(parse(rule)))


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
                raise InvariantError(f"'{self.rule}' cannot be parsed from '{self.rule[self.at :].strip()[:20]}'")
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

    def either(self) -> Node:
        tests = [self.both()]
        while self.sign("||"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else Either(tuple(tests))

    def both(self) -> Node:
        tests = [self.negated()]
        while self.sign("&&"):
            tests.append(self.negated())
        return tests[0] if len(tests) == 1 else Both(tuple(tests))

    def negated(self) -> Node:
        return Negated(self.negated()) if self.sign("!") else self.comparison()

    def comparison(self) -> Node:
        left = self.value()
        if self.kind == "sign" and self.next in COMPARE:
            return Compared(self.take(), left, self.value())
        if self.kind == "name" and self.next == "in":
            self.take()
            return Within(left, self.value())
        return left

    def value(self) -> Node:
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
        if kind == "name":
            return ConstantTerm(_CONSTANTS[token]) if token in _CONSTANTS else NameTerm(token)
        return ConstantTerm(float(token) if kind == "number" else token[1:-1])

    def items(self) -> Node:
        values: list[Node] = []
        while not self.sign("]"):
            if values and not self.sign(","):
                self.fail()
            values.append(self.value())
        return Items(tuple(values))


def truth(value: Any) -> bool:
    """The value, if it is one."""
    if not isinstance(value, bool):
        raise InvariantError(f"{value!r} is not true or false")
    return value


def compared(sign: str, left: Any, right: Any) -> bool:
    """The result of a comparison; only numbers and texts have an order."""
    compare = COMPARE[sign]
    if compare in (eq, ne):
        return same(left, right) == (compare is eq)
    numbers = all(isinstance(side, (int, float)) and not isinstance(side, bool) for side in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise InvariantError(f"{left!r} and {right!r} have no order")
    return compare(left, right)


def within(item: Any, group: Any) -> bool:
    """Whether an item is in a list, or a text in a text."""
    if isinstance(group, str) and isinstance(item, str):
        return item in group
    if not isinstance(group, (list, tuple)):
        raise InvariantError(f"{group!r} is not a list")
    return any(same(item, member) for member in group)


def same(one: Any, other: Any) -> bool:
    """Equality in which false is not 0."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
