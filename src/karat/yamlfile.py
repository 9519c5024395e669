"""A YAML file as plain data, strict about what plain YAML lets pass: a key that stands twice, a key that is no text."""

import re
from pathlib import Path
from typing import Any

import yaml

try:
    # libyaml parses ten times as fast; a build of PyYAML without it is slower and otherwise the same.
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

from karat.errors import InputError


def read_yaml(path: Path) -> Any:
    """The content of a file; InputError names the file and, where YAML knows it, the line."""
    try:
        return parse_yaml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=str(path)) from None
    except RecursionError:
        raise InputError("is nested too deeply", file=str(path)) from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"not YAML: {what}", file=str(path), line=mark.line + 1 if mark else None) from None


def parse_yaml(text: str) -> Any:
    """Plain data from YAML text; raises yaml.YAMLError."""
    return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a safe loader


class _StrictLoader(_SafeLoader):
    """Safe, and strict about keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is not text", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"'{key}' stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


# YAML 1.1 takes 1e-3 for text; everybody else takes it for a number.
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$"), list("-+.0123456789")
)


def line_of(path: Path, item: int, keys: str) -> int | None:
    """The line of a path such as `expected.operations[0].pageId` in an item of a file's list, as far as it exists."""
    node: Any = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=_SafeLoader)
    line = None
    for key in [item, *_split(keys)]:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            found = [(k, value) for k, value in node.value if k.value == key]
            if not found:
                break
            line = found[0][0].start_mark.line + 1
            node = found[0][1]
            continue
        else:
            break
        line = node.start_mark.line + 1
    return line


def _split(keys: str) -> list[str | int]:
    """`a.b[3].c` -> a, b, 3, c."""
    pieces = keys.replace("]", "").replace("[", ".#").split(".")
    return [int(piece[1:]) if piece.startswith("#") else piece for piece in pieces if piece]
