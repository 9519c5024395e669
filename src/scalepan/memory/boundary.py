"""What may this request read? Decided before any claim is looked at, and closed wherever there is doubt."""

from collections.abc import Sequence
from typing import NamedTuple

from scalepan.errors import BoundaryError
from scalepan.memory.model import Who
from scalepan.policy.boundary import CLASSES, Boundary, BoundaryClass, Effect
from scalepan.policy.invariants import holds


class Reach(NamedTuple):
    """The part of memory that a request may read. Equal reaches read the same."""

    tenant: str
    project: str | None
    session: str | None
    scopes: tuple[str, ...]
    classes: tuple[str, ...]
    """Those open to the request, from mild to strict."""
    redacted: frozenset[str]
    """Those of them whose personal data is cut on the way out."""


def reach(who: Who, action: str, policy: Boundary, scopes: Sequence[str] | None = None) -> Reach:
    """What `who` may read to do `action`; BoundaryError if an invariant forbids it."""
    check_invariants(who, action, policy)
    effects = {name: effect(policy, name, who.purposes) for name in CLASSES}
    return Reach(
        who.tenant,
        who.project,
        who.session,
        tuple(scope for scope in policy.scopes if scopes is None or scope in scopes),
        tuple(name for name in opened(who) if effects[name] != "deny"),
        frozenset(name for name in CLASSES if effects[name] == "redact"),
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


def check_whole(who: Who, action: str, policy: Boundary) -> None:
    """The same as `check_invariants`, for what looks at all classes alike: a token must open them all."""
    check_invariants(who, action, policy)
    if opened(who) != CLASSES:
        raise BoundaryError(f"the token opens {', '.join(opened(who))} only, and {action} needs every class")


def check_invariants(who: Who, action: str, policy: Boundary) -> None:
    """Every invariant must hold; one that cannot be evaluated does not."""
    facts = {
        **who.facts,
        # What the request says of itself is not the caller's to rename.
        "action": action,
        "tenant": who.tenant,
        "project": who.project,
        "session": who.session,
        "purposes": list(who.purposes),
        "actor": who.actor,
    }
    for name, rule in policy.invariants.items():
        try:
            kept = holds(rule, facts)
        except Exception as error:
            raise BoundaryError(f"invariant '{name}' cannot be evaluated, so {action} is denied: {error}") from None
        if not kept:
            raise BoundaryError(f"invariant '{name}' forbids to {action}: {rule}")
