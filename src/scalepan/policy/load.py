"""From files, environment and call to one Policy.

Later wins: built-in, the user's configuration, file, tenant, project, environment, call.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from scalepan.arguments import as_mapping, as_path
from scalepan.check import Fault, join, problems
from scalepan.errors import PolicyError, quoted
from scalepan.policy import boundary, gate, redact, retrieval
from scalepan.policy.files import file_layers, user_file_path
from scalepan.policy.model import Policy
from scalepan.policy.trust import Ignored, Layer, at, reserved, tell, without
from scalepan.yamlfile import parse_yaml

ENV_PREFIX = "SCALEPAN_"
DEEPEST_KEY = 8


def load_policy(
    path: str | os.PathLike[str] | None = None,
    *,
    layers: Iterable[Layer] = (),
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Policy:
    """The policy in force.

    The user's own configuration, then `path`, else the file that SCALEPAN_POLICY names, else the nearest scalepan.yaml
    upward from here. `layers` come between file and environment (a tenant's, then a project's); `overrides` are those
    of this call. Keys that a found file or a store may not set are ignored with a PolicyWarning.

    >>> load_policy(overrides={"value": {"gate": 0.6}}).value.gate
    0.6
    """
    if path is not None:
        path = as_path("path", path, "a policy file; single keys go into overrides={...}")
    if overrides is not None:
        as_mapping("overrides", overrides, "a dict of sections such as {'value': {'gate': 0.6}}")
    return resolve(all_layers(path, layers=layers, env=env, overrides=overrides))


def all_layers(
    path: str | os.PathLike[str] | None = None,
    *,
    layers: Iterable[Layer] = (),
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Layer]:
    """The layers in order of precedence, each with its origin; the built-in policy is below them all."""
    env = os.environ if env is None else env
    said = file_layers(path, env)
    said += layers
    said += env_layers(env)
    if overrides:
        said.append(Layer("call", overrides, "call"))
    return said


def env_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """`SCALEPAN_VALUE__GATE=0.6` sets value.gate. The value is parsed as YAML, so numbers, null and lists work."""
    for name in sorted(env):
        if not name.startswith(ENV_PREFIX) or "__" not in name:
            continue
        keys = name.removeprefix(ENV_PREFIX).lower().split("__")
        try:
            value = parse_yaml(env[name])
        except (yaml.YAMLError, ValueError, RecursionError):
            value = env[name]
        for key in reversed(keys):
            value = {key: value}
        yield Layer(name, value, "call")


def resolve(layers: Iterable[Layer], *, dropped: list[Fault] | None = None) -> Policy:
    """Built-in policy plus the layers, checked. Every problem is reported with the layer it comes from.

    With a list for `dropped`, fitted curves that do not load are left out, and their problems are appended to it: a
    recall goes on without them.
    """
    layers = [layer._replace(values=_plain(layer)) for layer in layers]
    allowed = [_allowed(layer) for layer in layers]
    merged: dict[str, Any] = msgspec.to_builtins(Policy())
    looser = {layer.origin: _lay(merged, layer) for layer in allowed}
    faults = problems(merged, Policy)
    if faults and dropped is not None:
        dropped += drop_curves(merged, faults)
        faults = problems(merged, Policy)
    if faults:
        blame = _Blame(allowed)
        first, *others = faults
        lines = [f"{blame.of(fault)}: {fault}" for fault in others]
        raise PolicyError(first.message, file=blame.of(first), path=first.path, more=lines)
    for layer in layers:
        refused = [key for key in reserved(layer) if at(merged, key.path) != key.value]
        if layer.source == "found":
            refused += looser[layer.origin]
        if refused:
            tell(_told(layer, refused))
    return msgspec.convert(merged, Policy)


_CURVES = ("retrieval", "calibration")


def drop_curves(values: Mapping[str, Any], faults: Iterable[Fault]) -> list[Fault]:
    """Remove the fitted curves that have problems from a policy; returns those problems.

    >>> values = {"retrieval": {"calibration": {"text": 5, "model": "m"}}}
    >>> drop_curves(values, [Fault("retrieval.calibration.text", "5 is not an object"), Fault("value", "...")])
    [Fault(path='retrieval.calibration.text', message='5 is not an object')]
    >>> values
    {'retrieval': {'calibration': {'model': 'm'}}}
    """
    found = [fault for fault in faults if tuple(fault.path.split(".")[:2]) == _CURVES]
    for fault in found:
        side = fault.path.split(".")[2:3]
        match values["retrieval"]:
            case {"calibration": dict() as calibration} if side and side[0] in ("text", "vector"):
                calibration.pop(side[0], None)
            case dict() as section:
                section.pop("calibration", None)
    return found


def _told(layer: Layer, keys: Iterable[Ignored]) -> str:
    """One line about keys that are ignored: which, why, and what to do."""
    reasons = ", ".join(f"{key.path} ({key.why})" for key in keys)
    if layer.source == "stored":
        return f"{layer.origin}: ignored: {reasons}: a policy in a store may not set this; set it in {user_file_path()}"
    return (
        f"{layer.origin}: ignored: {reasons}: a file that was found, not named, may not set this; to trust it, "
        f"give --policy {layer.origin}, or set it in {user_file_path()}"
    )


def laid(layers: Iterable[Layer]) -> Iterator[tuple[Layer, dict[str, Any], dict[str, Any]]]:
    """Layer by layer: what it may set, and all constants before and after."""
    merged: dict[str, Any] = msgspec.to_builtins(Policy())
    for layer in layers:
        allowed = _allowed(layer._replace(values=_plain(layer)))
        before = dict(leaves(merged))
        _lay(merged, allowed)
        yield allowed, before, dict(leaves(merged))


def _allowed(layer: Layer) -> Layer:
    return layer._replace(values=without(layer.values, [key.path for key in reserved(layer)]))


_TIGHTENED: dict[str, Any] = {"boundary": boundary, "redact": redact}


def _lay(merged: dict[str, Any], layer: Layer) -> list[Ignored]:
    """Merge a layer; returns what would have made `boundary` or `redact` less strict."""
    said = dict(layer.values)
    refused: list[Ignored] = []
    if not layer.may_relax:
        for name, section in _TIGHTENED.items():
            if isinstance(said.get(name), Mapping) and isinstance(merged[name], dict):
                wanted = said.pop(name)
                section.tighten(merged[name], wanted)
                refused += [Ignored(f"{name}.{p}", v, "less strict") for p, v in section.looser(wanted, merged[name])]
    if not layer.may_send and isinstance(asks := at(said, "confidence.gate"), Mapping):
        above = at(merged, "confidence.gate")
        if isinstance(above, Mapping):
            said["confidence"] = {**said["confidence"], "gate": gate.with_those_above(asks, above)}
    if isinstance(said.get("retrieval"), Mapping) and isinstance(merged["retrieval"], dict):
        retrieval.yield_half_lives(merged["retrieval"], said["retrieval"])
    merge(merged, said)
    return refused


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Merge `values` into `into`: tables key by key, everything else whole."""
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class _Blame:
    """The layer that a problem comes from: the last one that has the longest part of its path."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        self._said: dict[str, str] = {}
        for layer in layers:
            for path, _ in leaves(layer.values):
                self._said.update(dict.fromkeys(_beginnings(path), layer.origin))

    def of(self, fault: Fault) -> str:
        return next((self._said[part] for part in _beginnings(fault.path) if part in self._said), "policy")


def _beginnings(path: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`; for a key of nothing but dots, no more than a policy is deep."""
    pieces = path.split(".", DEEPEST_KEY)[:DEEPEST_KEY]
    return (".".join(pieces[:count]) for count in range(len(pieces), 0, -1))


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every constant of a policy with its path, tables taken apart."""
    for key, value in values.items():
        here = join(path, str(key))
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        else:
            yield here, value


_CAMEL = {"toolDiversity": "tool_diversity", "outcomeConfidence": "outcome_confidence"}


def _plain(layer: Layer) -> dict[str, Any]:
    """A layer as it is merged: empty sections are dropped, and both spellings of a weight are one."""
    if not isinstance(layer.values, Mapping):
        raise PolicyError(
            f"a policy is a table of sections, such as 'value:', not {quoted(layer.values)}", file=layer.origin
        )
    try:
        values = _snake_keys(layer.values, layer.origin)
    except RecursionError:
        raise PolicyError("is nested too deeply, or refers to itself", file=layer.origin) from None
    return {section: {} if value is None else value for section, value in values.items()}


def _snake_keys(values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """ScoringWeights may be spelled in camelCase (contract value.28), but not in both spellings at once."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        name = _CAMEL.get(key, key)
        if name in plain:
            raise PolicyError(f"is set twice, as '{name}' and in camelCase", file=origin, path=name)
        plain[name] = _snake_keys(value, origin) if isinstance(value, Mapping) else value
    return plain
