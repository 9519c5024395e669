"""What may this request read? Decided before any claim is looked at, and closed wherever there is doubt."""

from collections.abc import Sequence
from typing import Any

from scalepan import clock
from scalepan.errors import BoundaryError
from scalepan.policy.boundary import CLASSES, FACTS, Boundary, BoundaryClass, Effect
from scalepan.policy.claim_rules import WORDS, Tree, bind, mentions_age
from scalepan.policy.invariants import holds, parse
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from scalepan.store.rows import ClaimRow
from scalepan.store.table import to_microsecond


def reach(
    who: Who,
    action: str,
    policy: Boundary,
    scopes: Sequence[str] | None = None,
    at: float | None = None,
    valid_at: float | None = None,
) -> Reach:
    """What `who` may read to do `action`, now or at another time; BoundaryError if an invariant forbids it.

    With `valid_at`, without what is not true then, or is replaced by something else that `who` may read.
    """
    rules = check_invariants(who, action, policy)
    effects = {name: effect(policy, name, who.purposes) for name in CLASSES}
    return Reach(
        who.tenant,
        who.project,
        who.session,
        tuple(scope for scope in policy.scopes if scopes is None or scope in scopes),
        tuple(name for name in opened(who) if effects[name] != "deny"),
        frozenset(name for name in CLASSES if effects[name] == "redact"),
        rules,
        (clock.time() if at is None else at) if any(map(mentions_age, rules)) else None,
        None if valid_at is None else to_microsecond(valid_at),
    )


def reach_to_change(who: Who, action: str, policy: Boundary) -> Reach:
    """What `who` may vote on, change or forget: also what it may not read, but nothing that its token shuts."""
    return reach(who, action, policy)._replace(classes=opened(who))


def opened(who: Who) -> tuple[BoundaryClass, ...]:
    """The classes that the caller's token opens; all, where there is no token."""
    return CLASSES if who.classes is None else tuple(name for name in CLASSES if name in who.classes)


def effect(policy: Boundary, boundary_class: str, purposes: Sequence[str]) -> Effect:
    """What all purposes together may do with a class: deny over redact over allow.

    A purpose that is denied in so many words shuts the class for the whole request; one that is merely not mentioned
    leaves it to the others.

    >>> effect(Boundary(), "internal", ["answer:task"]), effect(Boundary(), "pii", ["answer:task"])
    ('allow', 'deny')
    """
    access = next((access for name, access in policy.classes.items() if name == boundary_class), None)
    if access is None:
        return "deny"
    effects = [access.effect(purpose) for purpose in purposes]
    if any(access.denies(purpose) for purpose in purposes):
        return "deny"
    if "redact" in effects:
        return "redact"
    return "allow" if "allow" in effects else "deny"


def check_class(who: Who, boundary_class: str) -> None:
    """Nobody writes into a class that the token shuts."""
    if boundary_class not in opened(who):
        raise BoundaryError(f"the token does not open class {boundary_class}, only {', '.join(opened(who))}")


def check_whole(who: Who, action: str, policy: Boundary) -> tuple[Tree, ...]:
    """The same as `check_invariants`, for what looks at all classes alike: a token must open them all."""
    rules = check_invariants(who, action, policy)
    if opened(who) != CLASSES:
        raise BoundaryError(f"the token opens {', '.join(opened(who))} only, and {action} needs every class")
    return rules


def check_invariants(who: Who, action: str, policy: Boundary) -> tuple[Tree, ...]:
    """Every invariant must hold; one that cannot be evaluated does not. What is left to ask of each claim."""
    facts = request_facts(who, action)
    left: list[Tree] = []
    for name, rule in policy.invariants.items():
        tree = _bound(rule, facts)
        if tree[0] == "error":
            raise BoundaryError(f"invariant '{name}' cannot be evaluated, so {action} is denied: {tree[1]}")
        if tree == ("is", False):
            raise BoundaryError(f"invariant '{name}' forbids to {action}: {rule}")
        if tree[0] != "is":
            left.append(tree)
    return tuple(left)


def _bound(rule: str, facts: dict[str, Any]) -> Tree:
    try:
        return bind(parse(rule), facts)
    except Exception as error:  # whatever it is, it must not let anybody in
        return ("error", str(error))


def request_facts(who: Who, action: str) -> dict[str, Any]:
    """What invariants know of a request. What it says of itself is not the caller's to rename."""
    return {
        **{f"{FACTS}{name}": value for name, value in who.facts.items()},
        "action": action,
        "tenant": who.tenant,
        "project": who.project,
        "session": who.session,
        "purposes": list(who.purposes),
        "actor": who.actor,
    }


def check_new_claim(
    who: Who, action: str, policy: Boundary, claim: ClaimRow, entities: Sequence[str], age_days: float
) -> None:
    """What is about to be kept must meet the invariants too: BoundaryError names the one that it does not."""
    facts = request_facts(who, action) | {f"claim.{name}": getattr(claim, name) for name in WORDS}
    facts |= {"claim.entities": list(entities), "claim.age_days": max(age_days, 0.0)}
    for name, rule in policy.invariants.items():
        try:
            kept = holds(rule, facts)
        except Exception as error:
            raise BoundaryError(f"invariant '{name}' cannot be evaluated, so {action} is denied: {error}") from None
        if not kept:
            raise BoundaryError(f"invariant '{name}' forbids to {action} this claim: {rule}")
