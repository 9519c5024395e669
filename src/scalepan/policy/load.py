"""From files, environment and call to one Policy. Later wins: built-in, file, tenant, project, environment, call."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from scalepan.check import Problem, join, problems
from scalepan.errors import InputError, PolicyError
from scalepan.policy import boundary, redact
from scalepan.policy.model import Policy
from scalepan.yamlfile import parse_yaml, read_yaml

FILE_NAME = "scalepan.yaml"
ENV_FILE = "SCALEPAN_POLICY"
ENV_PREFIX = "SCALEPAN_"


class Layer(NamedTuple):
    """Some keys of a policy and who said so."""

    origin: str
    values: Mapping[str, Any]
    may_relax: bool = False
    """Whether it may make `boundary` and `redact` less strict: the policy file may, and nobody above it."""


def load_policy(
    path: str | os.PathLike[str] | None = None,
    *,
    layers: Iterable[Layer] = (),
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Policy:
    """The policy in force.

    `path`, else the file that SCALEPAN_POLICY names, else the nearest scalepan.yaml upward from here. `layers` stand between
    file and environment (a tenant's, then a project's); `overrides` is what this call says.

    >>> load_policy(overrides={"value": {"gate": 0.6}}).value.gate
    0.6
    """
    return resolve(all_layers(path, layers=layers, env=env, overrides=overrides))


def all_layers(
    path: str | os.PathLike[str] | None = None,
    *,
    layers: Iterable[Layer] = (),
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Layer]:
    """What was said, by whom, in the order of precedence; the built-in policy is below all of it."""
    env = os.environ if env is None else env
    file = Path(path) if path is not None else find_file(env)
    said = [read_file(file)] if file else []
    said += layers
    said += env_layers(env)
    if overrides:
        said.append(Layer("call", overrides))
    return said


def find_file(env: Mapping[str, str]) -> Path | None:
    """The policy file that applies here, if there is one."""
    if env.get(ENV_FILE):
        return Path(env[ENV_FILE])
    here = Path.cwd()
    return next((folder / FILE_NAME for folder in (here, *here.parents) if (folder / FILE_NAME).is_file()), None)


def read_file(path: Path) -> Layer:
    """A YAML file as a layer; an empty file says nothing."""
    try:
        values = read_yaml(path)
    except InputError as error:
        raise PolicyError(error.problem, file=error.file, line=error.line) from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise PolicyError("a policy is a table of sections, such as 'value:'", file=str(path))
    return Layer(str(path), values, may_relax=True)


def env_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """`SCALEPAN_VALUE__GATE=0.6` sets value.gate. The value is read as YAML, so numbers, null and lists work."""
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
        yield Layer(name, value)


def resolve(layers: Iterable[Layer]) -> Policy:
    """Built-in policy plus the layers, checked. Every problem is reported, each naming who said it."""
    layers = [layer._replace(values=_plain(layer)) for layer in layers]
    merged: dict[str, Any] = msgspec.to_builtins(Policy())
    for layer in layers:
        _lay(merged, layer)
    faults = problems(merged, Policy)
    if faults:
        lines = [f"{blame(fault, layers)}: {fault}" for fault in faults]
        first = faults[0]
        raise PolicyError(first.message, file=blame(first, layers), path=first.path, more=lines[1:])
    return msgspec.convert(merged, Policy)


_TIGHTEN = {"boundary": boundary.tighten, "redact": redact.tighten}


def _lay(merged: dict[str, Any], layer: Layer) -> None:
    said = dict(layer.values)
    if not layer.may_relax:
        for section, tighten in _TIGHTEN.items():
            if isinstance(said.get(section), Mapping) and isinstance(merged[section], dict):
                tighten(merged[section], said.pop(section))
    merge(merged, said)


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Lay `values` over `into`: tables key by key, everything else whole."""
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def blame(fault: Problem, layers: Iterable[Layer]) -> str:
    """Who said what is wrong: the last layer that has the longest part of its path."""
    found, depth = "policy", 0
    for layer in layers:
        reached = max((_shared(path, fault.path) for path, _ in leaves(layer.values)), default=0)
        if reached and reached >= depth:
            found, depth = layer.origin, reached
    return found


def _shared(one: str, other: str) -> int:
    """How many leading keys two paths have in common."""
    count = 0
    for a, b in zip(one.split("."), other.split("."), strict=False):
        if a != b:
            break
        count += 1
    return count


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
    """A layer as it is merged: a section with nothing in it says nothing, and both spellings of a weight are one."""
    try:
        values = _snake_keys(layer.values, layer.origin)
    except RecursionError:
        raise PolicyError("is nested too deeply, or refers to itself", file=layer.origin) from None
    return {section: {} if value is None else value for section, value in values.items()}


def _snake_keys(values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The spec's ScoringWeights are in camelCase; both spellings are read, but not both at once."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        name = _CAMEL.get(key, key)
        if name in plain:
            raise PolicyError(f"stands twice, as '{name}' and in camelCase", file=origin, path=name)
        plain[name] = _snake_keys(value, origin) if isinstance(value, Mapping) else value
    return plain
