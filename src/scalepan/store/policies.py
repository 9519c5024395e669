"""Policies of tenants and projects: YAML texts with a history, each change an event."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import yaml

from scalepan import clock
from scalepan.check import Fault
from scalepan.errors import ConflictError, InputError, PolicyError
from scalepan.policy import Layer, resolve
from scalepan.policy.load import drop_curves
from scalepan.policy.trust import reserved
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, commits, reads
from scalepan.store.own import AddEvent
from scalepan.store.rows import PolicyRow
from scalepan.store.table import time_text
from scalepan.yamlfile import parse_yaml

if TYPE_CHECKING:
    from scalepan.store.here import Here


class SetPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tenant, or one of its projects, says from now on. An empty text says nothing."""

    yaml: str
    tenant: str
    project: str | None = None
    actor: str | None = None
    replaces: str | None = None
    """The id of the change that this was made from, empty if there was none; ConflictError if another came since."""


class PolicySet(msgspec.Struct, frozen=True):
    """The change's id, and the versions of the sections as this layer alone makes them."""

    id: str
    version: str


class WhosePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant, and one of its projects if that is meant."""

    tenant: str
    project: str | None = None


class PolicyChange(msgspec.Struct, frozen=True):
    """One entry of the history."""

    id: str
    at: str
    tenant: str
    project: str | None
    version: str
    actor: str | None
    yaml: str


class PolicyChanges(msgspec.Struct, frozen=True):
    """Newest first."""

    changes: list[PolicyChange]


def layer(text: str, origin: str, dropped: list[Fault] | None = None, *, keep: bool = False) -> Layer:
    """A policy text as a layer, checked; PolicyError says what is wrong with it, or must not be kept in a store.

    With a list for `dropped`, fitted curves that do not load are left out, and what is wrong with them goes there.
    """
    try:
        values = parse_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PolicyError(f"not YAML: {str(error).splitlines()[0]}", file=origin) from None
    if values is not None and not isinstance(values, dict):
        raise PolicyError("a policy is a table of sections, such as 'value:'", file=origin)
    said = Layer(origin, values or {}, "stored")
    for key in reserved(said) if keep else ():
        raise PolicyError(f"a policy in a store may not say {key.why}", file=origin, path=key.path)
    faults: list[Fault] | None = None if dropped is None else []
    resolve([said], dropped=faults)
    if dropped is not None and faults:
        dropped += drop_curves(said.values, faults)
    return said


SET_POLICY = Operation("store.set_policy", SetPolicy, PolicySet)


@commits(SET_POLICY)
def set_policy(here: "Here", requests: Sequence[SetPolicy]) -> list[PolicySet]:
    """Check each policy, keep it, and tell of it by an event."""
    now = clock.time()
    rows: list[PolicyRow] = []
    for request in requests:
        if request.replaces is not None:
            _check_last(here, request, rows)
        said = layer(request.yaml, _origin(request.tenant, request.project), keep=True)
        policy = resolve([said])
        version = ", ".join(f"{name} {policy.version(name)}" for name in policy.__struct_fields__)
        rows.append(
            PolicyRow(new_id("pol"), now, request.tenant, request.project, request.yaml, version, request.actor)
        )
    here.policies.add(rows)
    here.events.add(
        [
            AddEvent("policy", {"id": row.id, "project": row.project, "version": row.version}, row.tenant)
            for row in rows
        ],
    )
    return [PolicySet(row.id, row.version) for row in rows]


def _check_last(here: "Here", request: SetPolicy, waiting: Sequence[PolicyRow]) -> None:
    """What is replaced must be the last: in the table, or among those that the same transaction is about to write."""
    tenant, project = request.tenant, request.project
    written = [row for row in waiting if (row.tenant, row.project) == (tenant, project)]
    last = written[-1] if written else here.policies.last(tenant, project)
    if (last.id if last is not None else "") != request.replaces:
        raise ConflictError(f"the policy of {_origin(tenant, project)} was changed meanwhile; read it again")


POLICY_HISTORY = Operation("store.policy_history", WhosePolicy, PolicyChanges)


@reads(POLICY_HISTORY)
def policy_history(here: "Here", request: WhosePolicy) -> PolicyChanges:
    """What a tenant's or a project's policy was, and since when."""
    return PolicyChanges([_change(row) for row in here.policies.history(request.tenant, request.project)])


def _change(row: PolicyRow) -> PolicyChange:
    return PolicyChange(row.id, time_text(row.ts), row.tenant, row.project, row.version, row.actor, row.yaml)


POLICY_LAYERS = Operation("store.policy_layers", WhosePolicy, PolicyChanges)


@reads(POLICY_LAYERS)
def policy_layers(here: "Here", request: WhosePolicy) -> PolicyChanges:
    """What is in force: the tenant's newest policy, then the project's."""
    projects = [None] if request.project is None else [None, request.project]
    newest = [here.policies.last(request.tenant, project) for project in projects]
    return PolicyChanges([_change(row) for row in newest if row is not None])


def as_layers(changes: PolicyChanges, dropped: list[Fault] | None = None) -> list[Layer]:
    """The same as layers for `load_policy`, without fitted curves that do not load: they must not stop anything.

    They were checked when they were set, so this is a file of another version, or one that was changed by hand.
    """
    dropped = [] if dropped is None else dropped
    try:
        return [layer(change.yaml, _origin(change.tenant, change.project), dropped) for change in changes.changes]
    except InputError as error:
        raise PolicyError(f"the store's policy does not fit any more: {error}") from None


def _origin(tenant: str, project: str | None) -> str:
    return f"tenant {tenant}" if project is None else f"tenant {tenant}, project {project}"
