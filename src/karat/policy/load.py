"""From files, environment and call to one Policy. Later wins: built-in, file, tenant, project, environment, call."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from karat.check import Problem, join, problems
from karat.errors import PolicyError
from karat.policy.model import Policy

FILE_NAME = "karat.yaml"
ENV_FILE = "KARAT_POLICY"
ENV_PREFIX = "KARAT_"


class Layer(NamedTuple):
    """Some keys of a policy and who said so."""

    origin: str
    values: Mapping[str, Any]


def load_policy(
    path: str | os.PathLike[str] | None = None,
    *,
    layers: Iterable[Layer] = (),
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Policy:
    """The policy in force.

    `path`, else the file that KARAT_POLICY names, else the nearest karat.yaml upward from here. `layers` stand between
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
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise PolicyError("is not UTF-8 text", file=str(path)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise PolicyError(f"not YAML: {what}", file=str(path), line=mark.line + 1 if mark else None) from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise PolicyError("a policy is a table of sections, such as 'value:'", file=str(path))
    return Layer(str(path), values)


def env_layers(env: Mapping[str, str]) -> Iterator[Layer]:
    """`KARAT_VALUE__GATE=0.6` sets value.gate. The value is read as YAML, so numbers, null and lists work."""
    for name in sorted(env):
        if not name.startswith(ENV_PREFIX) or "__" not in name:
            continue
        keys = name.removeprefix(ENV_PREFIX).lower().split("__")
        try:
            value = yaml.safe_load(env[name])
        except yaml.YAMLError:
            value = env[name]
        for key in reversed(keys):
            value = {key: value}
        yield Layer(name, value)


def resolve(layers: Iterable[Layer]) -> Policy:
    """Built-in policy plus the layers, checked. Every problem is reported, each naming who said it."""
    layers = [Layer(layer.origin, _snake_keys(layer.values)) for layer in layers]
    merged: dict[str, Any] = msgspec.to_builtins(Policy())
    for layer in layers:
        merge(merged, layer.values)
    faults = problems(merged, Policy)
    if faults:
        lines = [f"{blame(fault, layers)}: {fault}" for fault in faults]
        first = faults[0]
        raise PolicyError(first.message, file=blame(first, layers), path=first.path, more=lines[1:])
    return msgspec.convert(merged, Policy)


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


def _snake_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """The spec's ScoringWeights are in camelCase; both spellings are read."""
    return {
        _CAMEL.get(key, key): _snake_keys(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }


class _UniqueKeys(yaml.SafeLoader):
    """A key that stands twice is a mistake that plain YAML hides."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is not text", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"'{key}' stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
