"""When the gate asks a person, however sure the agent is: evidence, names that always ask, rules over the call."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.names import Label
from scalepan.policy._fields import Section, choice, number
from scalepan.policy.invariants import InvariantError, names_in, parse

Evidence = Literal["required", "optional"]
Then = Literal["notify", "confirm", "escalate"]
ADDED = ("always_ask", "rules")
"""Lists that a layer which may not relax the gate can only add to."""


class GateRule(Section, frozen=True, kw_only=True):
    """When the gate must notify or ask, however sure the agent is. A rule raises the level and never lowers it."""

    when: Annotated[str, choice("a condition over action, args.NAME and confidence, such as args.amount > 500")]
    then: Annotated[Then, in_order(Then), choice("the least that happens: notify, ask, or hand over to a person")] = (
        "confirm"
    )

    def __post_init__(self) -> None:
        try:
            parse(self.when)
        except InvariantError as error:
            raise ValueError(f"when: {error}") from None
        for name in names_in(self.when):
            if name not in ("action", "confidence") and not name.startswith("args."):
                raise ValueError(f"when: no name '{name}'; there are action, confidence and args.NAME")


class GatePolicy(Section, frozen=True, kw_only=True):
    """When a person is asked, and how."""

    timeout_seconds: Annotated[
        float, number("how long to wait for an answer; then the action is not done", "seconds", gt=0)
    ] = 300.0
    evidence: Annotated[
        Evidence,
        in_order(Evidence),
        choice("whether going on requires a search result, a tool result or a source besides the agent's own word"),
    ] = "required"
    always_ask: Annotated[list[Label], choice("names of actions that a person must always approve")] = msgspec.field(
        default_factory=list
    )
    rules: Annotated[list[GateRule], choice("when to notify or ask, by the action and its arguments")] = msgspec.field(
        default_factory=list
    )


def with_those_above(gate: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A layer's settings of the gate, with the rules and names of the layers above, which it cannot remove.

    A value of the wrong shape stays unchanged, so that the check that follows can name it.

    >>> with_those_above({"always_ask": ["pay"], "timeout_seconds": 9}, {"always_ask": ["refund"], "rules": []})
    {'always_ask': ['refund', 'pay'], 'timeout_seconds': 9}
    """
    joined = dict(gate)
    for key in ADDED:
        match above.get(key), gate.get(key):
            case list() as old, list() as new:
                joined[key] = [*old, *(one for one in new if one not in old)]
    return joined
