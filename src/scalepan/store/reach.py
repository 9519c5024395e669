"""The part of a store that a request may read, as data. Each engine turns it into its own condition."""

from typing import NamedTuple

from scalepan.policy.claim_rules import Tree


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
    rules: tuple[Tree, ...] = ()
    """What the invariants ask of each claim, the facts of the request filled in: all must be true of it."""
    moment: float | None = None
    """Now, in seconds since 1970, where a rule asks for a claim's age; then only equal moments read the same."""
    valid_at: float | None = None
    """When a claim must be true and not replaced yet, in seconds since 1970; None: whenever."""
