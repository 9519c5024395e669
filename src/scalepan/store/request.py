"""What every request says: who asks, and what the caller's own policy adds to the store's."""

from typing import Annotated, Any, TypeVar
from uuid import uuid4

import msgspec

from scalepan.check import resolved
from scalepan.names import Label, TraceId
from scalepan.policy.boundary import BoundaryClass
from scalepan.policy.trust import Layer

DEFAULT_TENANT = DEFAULT_PROJECT = "default"
DEFAULT_PURPOSE = "answer:task"


class Who(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who asks, from where, and what for. Claims of others are as if they did not exist."""

    tenant: Label = DEFAULT_TENANT
    project: Label | None = DEFAULT_PROJECT
    session: Label | None = None
    purposes: Annotated[tuple[Annotated[str, msgspec.Meta(pattern=r"^[^*]+$")], ...], msgspec.Meta(min_length=1)] = (
        DEFAULT_PURPOSE,
    )
    """What the answer is for: `answer:task`, `tool:contact-lookup`."""
    actor: str | None = None
    facts: dict[str, Any] = {}
    """What the invariants may ask about, beside what the request itself says."""
    trace_id: TraceId | None = None
    """What the call is part of; a call without one gets one of its own, see `traced`."""
    classes: tuple[BoundaryClass, ...] | None = None
    """What the caller's token opens at most; policy may open less. None: there is no token, and policy alone says."""


class Overlay(msgspec.Struct, frozen=True):
    """What the caller's policy says: below the store's own policies its file, above them environment and call."""

    below: list[Layer] = []
    above: list[Layer] = []


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every request that depends on who asks."""

    who: Who = Who()
    overlay: bytes = b""
    """An Overlay, packed once by the caller: many requests carry the same one."""


resolved(Who, Overlay)

AnyRequest = TypeVar("AnyRequest", bound=msgspec.Struct)


def traced(request: AnyRequest) -> AnyRequest:
    """A request whose caller has a trace id: the one that was given, else a new one for this call alone."""
    who: Who | None = getattr(request, "who", None)
    if who is None or who.trace_id is not None:
        return request
    return msgspec.structs.replace(request, who=msgspec.structs.replace(who, trace_id=uuid4().hex))
