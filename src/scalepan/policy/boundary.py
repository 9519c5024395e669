"""Who may read what: classes, purposes and invariants (contract memory.61 to memory.64)."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice
from scalepan.policy.claim_rules import CLAIM_NAMES, check_claims
from scalepan.policy.invariants import InvariantError, check_names, parse

BoundaryClass = Literal["public", "internal", "pii", "secret"]
Scope = Literal["session", "project", "principle"]
Effect = Literal["deny", "redact", "allow"]
CLASSES: tuple[BoundaryClass, ...] = ("public", "internal", "pii", "secret")
"""From mild to strict."""
REQUEST_NAMES = ("action", "tenant", "project", "session", "purposes", "actor")
"""Facts of every request that an invariant may use; what else the caller states is `facts.NAME`."""
FACTS = "facts."
SCOPES: tuple[Scope, ...] = ("session", "project", "principle")


class Access(Section, frozen=True, kw_only=True):
    """For which purposes a class may be read. A purpose is a name, or a prefix that ends in `*`."""

    allow: Annotated[list[str], choice("purposes that read the text as it is stored")] = msgspec.field(
        default_factory=list
    )
    redact: Annotated[list[str], choice("purposes that read it without personal data")] = msgspec.field(
        default_factory=list
    )
    deny: Annotated[list[str], choice("purposes that never read it, whatever else allows them")] = msgspec.field(
        default_factory=list
    )

    def effect(self, purpose: str) -> Effect:
        """The effect for one purpose; a purpose that nobody mentions is denied.

        >>> Access(allow=["tool:*"], deny=["tool:mail"]).effect("tool:mail")
        'deny'
        """
        if self.denies(purpose):
            return "deny"
        if _any_covers(self.redact, purpose):
            return "redact"
        return "allow" if _any_covers(self.allow, purpose) else "deny"

    def denies(self, purpose: str) -> bool:
        """Whether the purpose is denied explicitly, and not only because it is not mentioned."""
        return _any_covers(self.deny, purpose)


def _classes() -> dict[BoundaryClass, Access]:
    return {
        "public": Access(allow=["*"]),
        "internal": Access(allow=["answer:task", "tool:*"]),
        "pii": Access(redact=["tool:contact-lookup"]),
        "secret": Access(),
    }


class Boundary(Section, frozen=True, kw_only=True):
    """What a request may read. Only a file that the user named can make this less strict."""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    classes: Annotated[
        dict[BoundaryClass, Access], choice("access by class, from mild to strict; a class that is not named is closed")
    ] = msgspec.field(default_factory=_classes)
    scopes: Annotated[list[Annotated[Scope, in_order(Scope)]], choice("scopes that are searched at all")] = (
        msgspec.field(default_factory=lambda: list(SCOPES))
    )
    invariants: Annotated[
        dict[str, str],
        choice(
            "rules by name that every request, and each claim it would read, must satisfy: == != > >= < <= && || ! in, "
            "over action, tenant, project, session, purposes, actor, facts.NAME, claim.kind, claim.boundary_class, "
            "claim.scope, claim.entities, claim.age_days"
        ),
    ] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rule in self.invariants.items():
            try:
                node = parse(rule)
                check_names(node, (*REQUEST_NAMES, *CLAIM_NAMES), (FACTS,))
                check_claims(node)
            except (InvariantError, RecursionError) as error:
                raise ValueError(f"invariants.{name}: {error}") from None


def covers(pattern: str, purpose: str) -> bool:
    """Whether a pattern covers this purpose, or this pattern and everything it covers.

    >>> covers("tool:*", "tool:mail"), covers("tool:mail", "tool:*"), covers("*", "tool:*")
    (True, False, True)
    """
    if pattern.endswith("*"):
        return purpose.startswith(pattern[:-1])
    return pattern == purpose


def _any_covers(patterns: list[str], purpose: str) -> bool:
    return any(covers(pattern, purpose) for pattern in patterns)


def tighten(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Merge a lower layer into this section without relaxing it.

    Grants shrink to what both allow, denials and redactions add up, invariants must all hold. A value of the
    wrong shape is merged unchanged, so that the check that follows can name it.

    >>> section = {"classes": {"internal": {"allow": ["tool:*"], "redact": [], "deny": []}}, "scopes": ["project"]}
    >>> tighten(section, {"classes": {"internal": {"allow": ["*"], "deny": ["tool:mail"]}}, "scopes": ["session"]})
    >>> section
    {'classes': {'internal': {'allow': ['tool:*'], 'redact': [], 'deny': ['tool:mail']}}, 'scopes': []}
    """
    for key, value in values.items():
        match key, value, into.get(key):
            case "classes", Mapping(), dict() as classes:
                for name, access in value.items():
                    classes[name] = _tighter(classes.get(name), access)
            case "scopes", list(), list() as scopes:
                known = [scope for scope in scopes if scope in value or scope not in SCOPES]
                into[key] = known + [scope for scope in value if scope not in SCOPES]
            case "invariants", Mapping(), dict() as invariants:
                for name, rule in value.items():
                    _demand(invariants, name, rule)
            case ("classes" | "invariants", _, dict()) | ("scopes", _, list()):
                into[key] = value
            case "classes" | "invariants" | "scopes", _, _:
                pass  # the upper layer has the wrong shape, and the check names that
            case _:
                into[key] = value


def _tighter(upper: Any, lower: Any) -> Any:
    """Access that both layers grant. A class that the upper layer does not name is closed and stays so."""
    shut: dict[str, list[str]] = {"allow": [], "redact": [], "deny": []}
    if upper is not None and not _is_access(upper):
        return upper
    if not _is_access(lower):
        return lower
    upper = {**shut, **(upper or {})}
    open_above = [*upper["allow"], *upper["redact"]]
    return {
        "allow": _common(upper["allow"], lower["allow"]) if "allow" in lower else upper["allow"],
        "redact": _united(upper["redact"], _common(open_above, lower.get("redact", []))),
        "deny": _united(upper["deny"], lower.get("deny", [])),
        # Invalid items stay, for the check to name.
        **{key: value for key, value in lower.items() if key not in ("allow", "redact", "deny")},
    }


def _is_access(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(purposes, list) and all(isinstance(purpose, str) for purpose in purposes)
        for purposes in value.values()
    )


def _common(upper: list[str], lower: list[str]) -> list[str]:
    """The narrower of every two patterns that overlap.

    >>> _common(["tool:*", "answer:task"], ["tool:mail", "*"])
    ['tool:mail', 'tool:*', 'answer:task']
    """
    met = [b if covers(a, b) else a for a in upper for b in lower if covers(a, b) or covers(b, a)]
    return list(dict.fromkeys(met))


def _united(one: list[str], other: list[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _demand(invariants: dict[str, Any], name: str, rule: Any) -> None:
    """Add a rule. An existing rule of that name stays beside it: joined into one text, a rule could break out."""
    while name in invariants and invariants[name] != rule:
        name = f"{name}'"
    invariants[name] = rule


def looser(values: Mapping[str, Any], section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a layer tried to grant and `tighten` did not, as path and value.

    >>> list(looser({"scopes": ["session", "project"]}, {"scopes": ["project"], "classes": {}}))
    [('scopes', ['session', 'project'])]
    """
    match values.get("scopes"), section.get("scopes"):
        case list() as wanted, list() as given if any(scope not in given for scope in wanted):
            yield "scopes", wanted
    classes, granted = values.get("classes"), section.get("classes")
    if isinstance(classes, Mapping) and isinstance(granted, Mapping):
        for name, access in classes.items():
            if _is_access(access) and _is_access(granted[name]) and _wider(access, granted[name]):
                yield f"classes.{name}.allow", access["allow"]


def _wider(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return not all(_any_covers(given.get("allow", []), purpose) for purpose in wanted.get("allow", []))
