"""A YAML file as plain data, strict where plain YAML is not: duplicate keys, and keys that are not text."""

import re
from functools import cached_property
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import yaml

try:
    # libyaml parses ten times as fast; a PyYAML build without it is slower and otherwise the same.
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

from scalepan.errors import InputError
from scalepan.files import open_source


def read_text(path: Path, *, again: bool = False) -> str:
    """The text of a file, without a byte order mark; `again`: a second read, which a pipe does not allow."""
    with TextIOWrapper(open_source(path, again=again), encoding="utf-8-sig") as file:
        return file.read()


def read_yaml(path: Path) -> Any:
    """The content of a file; InputError names the file and, if YAML knows it, the line."""
    try:
        return parse_yaml(read_text(path))
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


DEEPEST = 100
MOST_VALUES = 1_000_000
"""The most values of a file with its aliases expanded: a few lines of them can expand beyond any memory."""


def parse_yaml(text: str) -> Any:
    """Plain data from YAML text; raises yaml.YAMLError."""
    if _looks_deep(text):
        _check_depth(text)
    loader = _StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if "*" in text:
            _check_aliases(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


_BRACKETS = re.compile(r"[][{}]")
_DEEP_BLOCK = re.compile(rf"^[ ?\-]{{{DEEPEST}}}", re.MULTILINE)


def _looks_deep(text: str) -> bool:
    """Whether it could be nested too deeply: brackets in brackets, or a line that begins far to the right."""
    depth = 0
    for bracket in _BRACKETS.findall(text):  # quoted ones too: a false alarm only costs a second look
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        if depth > DEEPEST:
            return True
    return _DEEP_BLOCK.search(text) is not None


def _check_depth(text: str) -> None:
    """Libyaml builds nested nodes recursively, and a hundred thousand of them crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"is nested more than {DEEPEST} deep", problem_mark=event.start_mark)


def _check_aliases(root: yaml.Node) -> None:
    """Refuse an anchor that contains itself, and aliases that expand too deeply or to too many values."""
    measured: dict[int, tuple[int, int]] = {}  # by node: number of values, depth
    above: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        children = _children(node)
        if done:
            above.discard(id(node))
            sizes = [measured[id(child)] for child in children]
            size, depth = 1 + sum(size for size, _ in sizes), 1 + max((depth for _, depth in sizes), default=0)
            if size > MOST_VALUES or depth > DEEPEST:
                raise yaml.MarkedYAMLError(
                    problem=f"aliases make it more than {MOST_VALUES:,} values, or more than {DEEPEST} deep",
                    problem_mark=node.start_mark,
                )
            measured[id(node)] = size, depth
        elif id(node) in above:
            raise yaml.MarkedYAMLError(problem="an anchor refers to itself", problem_mark=node.start_mark)
        elif id(node) not in measured:
            above.add(id(node))
            waiting.append((node, True))
            waiting += [(child, False) for child in children if id(child) not in measured]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


class _StrictLoader(_SafeLoader):
    """Safe, and strict about keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is not text", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"'{key}' occurs twice", problem_mark=key_node.start_mark)
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


# What a bare word means: as in YAML 1.2 and JSON. YAML 1.1 takes `no` for false, 12:30 for 750, 2024-01-02 for a
# date and 1e-3 for text, and golden cases would be judged by that.
_BARE = {
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    "int": (r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    "float": (
        r"^(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
    "merge": (r"^<<$", "<"),
}
_StrictLoader.yaml_implicit_resolvers = {}
for _name, (_pattern, _first) in _BARE.items():
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first))


class Lines:
    """The line of a value in a file, for error messages. The file is parsed a second time, on first use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _root(self) -> Any:
        try:
            return yaml.compose(read_text(self._path, again=True), Loader=_SafeLoader)
        except OSError:  # it was a pipe: the line is not known
            return None

    def of(self, item: int, keys: str) -> int | None:
        """The line of a path like `expected.operations[0].pageId` in an item of the file's list, if it exists."""
        node, line = self._root, None
        for key in [item, *_split(keys)]:
            if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
                line = node.start_mark.line + 1
            elif isinstance(node, yaml.MappingNode):
                found = [(name, value) for name, value in node.value if name.value == key]
                if not found:
                    break
                line = found[0][0].start_mark.line + 1
                node = found[0][1]
            else:
                break
        return line


def _split(keys: str) -> list[str | int]:
    """`a.b[3].c` -> a, b, 3, c."""
    pieces = keys.replace("]", "").replace("[", ".#").split(".")
    return [int(piece[1:]) if piece.startswith("#") else piece for piece in pieces if piece]
