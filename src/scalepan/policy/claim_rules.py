"""Invariants over claims: with the facts of a request filled in, a rule becomes a tree to evaluate for each claim.

A tree is made of plain tuples, so that it can be compared, used as a key, and compiled: to a mask over arrays and to
SQL (`scalepan.memory.recall.claim_rules`). Both mean what the rule means when it is evaluated claim by claim.

    ("is", True)                         true, or false
    ("error", why)                       cannot be evaluated, and so denies
    ("not", tree), ("any", trees), ("all", trees)
    ("compare", attribute, sign, value)  claim.kind == 'fact'
    ("among", attribute, values)         claim.kind in ['fact', 'task']
    ("part of", attribute, text)         claim.kind in 'fact or task'
    ("contains", attribute, text)        'hint' in claim.kind
    ("about", name)                      'Billing' in claim.entities
"""

from math import inf, isnan
from typing import Any

from scalepan.policy.invariants import (
    Both,
    Compared,
    ConstantTerm,
    Either,
    Facts,
    InvariantError,
    Items,
    NameTerm,
    Negated,
    Node,
    Within,
    compared,
    names,
    truth,
    within,
)

Tree = tuple[Any, ...]

FAMILY = "claim."
WORDS = ("kind", "boundary_class", "scope")
ENTITIES, AGE = "entities", "age_days"
CLAIM_NAMES = tuple(FAMILY + name for name in (*WORDS, ENTITIES, AGE))
_TURNED = {"==": "==", "!=": "!=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


def mentions_claim(node: Node) -> bool:
    """Whether a rule mentions claims."""
    return any(name.startswith(FAMILY) for name in names(node))


def mentions_age(tree: Tree) -> bool:
    """Whether a tree's result for a claim changes with time."""
    match tree:
        case ("any" | "all", trees):
            return any(mentions_age(one) for one in trees)
        case ("not", one):
            return mentions_age(one)
        case _:
            return tree[0] not in ("is", "error", "about") and tree[1] == AGE


def check_claims(node: Node) -> None:
    """InvariantError for a use of a claim attribute that cannot be compiled.

    An attribute is compared with a value of the rule or of the request; `claim.entities` is a list to be in.
    """
    match node:
        case Negated(one):
            check_claims(one)
        case Either(inner) | Both(inner):
            for one in inner:
                check_claims(one)
        case Compared() | Within() if mentions_claim(node):
            _check_sides(node)
        case NameTerm(name) if mentions_claim(node):
            raise InvariantError(f"'{name}' is not true or false; compare it with something")
        case Items():
            if mentions_claim(node):
                raise InvariantError("a list cannot hold an attribute of a claim")


def _check_sides(node: Compared | Within) -> None:
    one, other = (node.left, node.right) if isinstance(node, Compared) else (node.item, node.group)
    attribute, value = (one, other) if mentions_claim(one) else (other, one)
    if not isinstance(attribute, NameTerm) or mentions_claim(value):
        raise InvariantError("an attribute of a claim is compared with a value, not with another attribute")
    name = attribute.name.removeprefix(FAMILY)
    is_group = isinstance(node, Within) and attribute is node.group
    if (name == ENTITIES) != is_group and not (is_group and name in WORDS):
        raise InvariantError(f"'{attribute.name}' is used as in \"{_EXAMPLES[name]}\"")


_EXAMPLES = {
    ENTITIES: "'Billing' in claim.entities",
    AGE: "claim.age_days < 30",
    **{name: f"claim.{name} == '...'" for name in WORDS},
}


def bind(node: Node, facts: Facts) -> Tree:
    """The rule with the facts of a request filled in: what remains to be evaluated for a claim.

    >>> from scalepan.policy.invariants import parse
    >>> bind(parse("action != 'forget' || claim.kind == 'task'"), {"action": "search"})
    ('is', True)
    >>> bind(parse("action != 'forget' || claim.kind == 'task'"), {"action": "forget"})
    ('compare', 'kind', '==', 'task')
    """
    try:
        if not mentions_claim(node):
            return ("is", truth(node(facts)))
        match node:
            case Negated(one):
                tree = bind(one, facts)
                return ("is", not tree[1]) if tree[0] == "is" else tree if tree[0] == "error" else ("not", tree)
            case Either(inner):
                return _joined("any", inner, facts)
            case Both(inner):
                return _joined("all", inner, facts)
            case Compared():
                return _bound_comparison(node, facts)
            case Within():
                return _bound_membership(node, facts)
            case _:
                raise InvariantError("an attribute of a claim is not true or false")
    except InvariantError as error:
        return ("error", str(error))


def _joined(join: str, inner: tuple[Node, ...], facts: Facts) -> Tree:
    """From the left, until one decides: what comes after that, or after an error, is not evaluated."""
    decides = join == "any"
    trees: list[Tree] = []
    for one in inner:
        tree = bind(one, facts)
        if tree == ("is", not decides):
            continue
        trees.append(tree)
        if tree[0] in ("is", "error"):
            break
    if not trees:
        return ("is", not decides)
    return trees[0] if len(trees) == 1 else (join, tuple(trees))


def _bound_comparison(node: Compared, facts: Facts) -> Tree:
    turned = not mentions_claim(node.left)
    attribute, other = (node.right, node.left) if turned else (node.left, node.right)
    name, sign = _attribute(attribute), _TURNED[node.sign] if turned else node.sign
    if other == ConstantTerm(None):
        value: Any = None
    else:
        value = other(facts)
    if not _fits(name, value):
        # The type alone decides, and is the same for every claim: any value of it will do.
        return ("is", compared(sign, 0.0 if name == AGE else "", value))
    value = _plain(name, value)
    return ("is", sign == "!=") if name == AGE and isnan(value) else ("compare", name, sign, value)


def _bound_membership(node: Within, facts: Facts) -> Tree:
    if mentions_claim(node.group):
        name, item = _attribute(node.group), node.item(facts)
        if name == ENTITIES:
            return ("about", _plain(name, item)) if isinstance(item, str) else ("is", False)
        return ("contains", name, _plain(name, item)) if isinstance(item, str) else ("is", within(item, ""))
    name, group = _attribute(node.item), node.group(facts)
    if isinstance(group, str) and name in WORDS:
        return ("part of", name, _plain(name, group))
    if not isinstance(group, (list, tuple)):
        raise InvariantError(f"{group!r} is not a list")
    fit = [_plain(name, member) for member in group if _fits(name, member)]
    members = tuple(dict.fromkeys(member for member in fit if name in WORDS or not isnan(member)))
    return ("among", name, members) if members else ("is", False)


def _attribute(node: Node) -> str:
    if not isinstance(node, NameTerm):
        raise InvariantError("an attribute of a claim is compared with a value")
    return node.name.removeprefix(FAMILY)


def _fits(name: str, value: Any) -> bool:
    """Whether a value is of the attribute's type."""
    if name == AGE:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def _plain(name: str, value: Any) -> Any:
    """The value in a form that SQL accepts."""
    try:
        if name == AGE:
            return float(value)
        value.encode()
    except OverflowError:  # an integer larger than any age
        return inf if value > 0 else -inf
    except UnicodeError:
        raise InvariantError(f"{value!r} is not text") from None
    return value
