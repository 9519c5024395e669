"""The block model on 197 traces of an editor: what can be said in its words comes out as recorded."""

import json
from collections import Counter
from typing import Any

from scalepan.evals import apply
from tests.real.blockdata import InexpressibleError, Json, Node, Row, as_page, edits_of, group, rows, shape

SLATE = (89, 30, 89)
"""Expressible, of which change nothing, equal to the recorded result."""


def slate_block(raw: Json, path: str | None) -> Node:
    """An element: its properties are its type, and it holds blocks or runs."""
    if "children" not in raw:
        raise InexpressibleError("text beside blocks")
    if raw.get("inline"):
        raise InexpressibleError("inline element")
    type_ = json.dumps({key: value for key, value in raw.items() if key != "children"}, sort_keys=True)
    elements = ["children" in child for child in raw["children"]]
    if any(elements) and not all(elements):
        raise InexpressibleError("text beside blocks, or inline element")
    if any(elements):
        inside = [slate_block(child, f"{path}.{i}" if path else None) for i, child in enumerate(raw["children"])]
        return Node(path, type_, [], Row(inside))
    return Node(path, type_, [slate_run(child) for child in raw["children"]], Row([]))


def slate_run(raw: Json) -> Json:
    """A text: its marks are its type."""
    if "children" in raw:
        raise InexpressibleError("inline element")
    marks = {key: value for key, value in raw.items() if key != "text"}
    return {"type": json.dumps(marks, sort_keys=True) if marks else "text", "text": raw["text"]}


class Slate:
    """A tree that slate's operations are played on."""

    def __init__(self, children: list[Json]) -> None:
        self.row = Row([slate_block(raw, f"n{i}") for i, raw in enumerate(children)])

    def find(self, path: list[int]) -> tuple[Row, Node | None, int]:
        """The row that a path ends in, the block around it, and the place in it."""
        row, around = self.row, None
        for index in path[:-1]:
            here = row.now()
            if index >= len(here):
                raise InexpressibleError("a path into a text")
            around = here[index]
            row = around.children
        return row, around, path[-1]

    def play(self, one: Json) -> None:
        if one["type"] == "set_selection":
            return
        row, around, index = self.find(one["path"])
        in_text = around is not None and not row.now() and bool(around.content)
        getattr(self, f"_{one['type']}", self._other)(one, row, around, index, in_text)

    def _other(self, one: Json, *_: Any) -> None:
        raise InexpressibleError(one["type"])

    def _insert_node(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        if "text" in one["node"]:
            if around is None or row.now():
                raise InexpressibleError("text beside blocks")
            around.content = [*around.content[:index], slate_run(one["node"]), *around.content[index:]]
        elif in_text:
            raise InexpressibleError("text beside blocks, or inline element")
        else:
            row.insert(index, slate_block(one["node"], None))

    def _remove_node(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        if in_text and around is not None:
            around.content = [run for i, run in enumerate(around.content) if i != index]
        else:
            row.remove(index)

    def _set_node(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        if "children" in one["newProperties"] or "text" in one["newProperties"]:
            raise InexpressibleError("set_node of what is inside")
        target: Any = around.content[index] if in_text and around is not None else row.now()[index]
        type_ = target["type"] if in_text else target.type
        properties = {} if type_ == "text" else json.loads(type_)
        properties |= one["newProperties"]
        for key in one.get("properties", {}):
            if key not in one["newProperties"]:
                del properties[key]
        properties = {key: value for key, value in properties.items() if value is not None}
        if properties.get("inline"):
            raise InexpressibleError("inline element")
        if in_text and around is not None:
            run = {**target, "type": json.dumps(properties, sort_keys=True) if properties else "text"}
            around.content = [run if i == index else other for i, other in enumerate(around.content)]
        else:
            target.type = json.dumps(properties, sort_keys=True)

    def _insert_text(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        self._text(one, around, index, one["text"], 0)

    def _remove_text(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        self._text(one, around, index, "", len(one["text"]))

    def _text(self, one: Json, around: Node | None, index: int, new: str, gone: int) -> None:
        assert around is not None
        run, at = around.content[index], one["offset"]
        changed = {**run, "text": run["text"][:at] + new + run["text"][at + gone :]}
        around.content = [changed if i == index else other for i, other in enumerate(around.content)]

    def _split_node(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        if not in_text or around is None:
            raise InexpressibleError("split_node of a block")
        run, at = around.content[index], one["position"]
        marks = one.get("properties") or {}
        first = {**run, "text": run["text"][:at]}
        second = {"type": json.dumps(marks, sort_keys=True) if marks else "text", "text": run["text"][at:]}
        around.content = [*around.content[:index], first, second, *around.content[index + 1 :]]

    def _merge_node(self, one: Json, row: Row, around: Node | None, index: int, in_text: bool) -> None:
        if not in_text or around is None:
            raise InexpressibleError("merge_node of a block")
        before, here = around.content[index - 1], around.content[index]
        joined = {**before, "text": before["text"] + here["text"]}
        around.content = [*around.content[: index - 1], joined, *around.content[index + 1 :]]


def test_slate_operations() -> None:
    """Every row is played; what cannot be said in blocks is counted by its reason."""
    total = equal = no_change = 0
    inexpressible: Counter[str] = Counter()
    said: Counter[str] = Counter()
    different = []
    for row in rows("slate_ops/cases.dev.jsonl"):
        total += 1
        try:
            slate = Slate(row["before"]["children"])
            page = as_page("p", slate.row)
            for one in row["operations"]:
                slate.play(one)
            made = list(edits_of(slate.row, page_is_empty=not page.blocks))
            recorded = as_page("p", Slate(row["after"]["children"]).row)
        except InexpressibleError as why:
            inexpressible[str(why)] += 1
            continue
        applied = apply([page], group("p", made))
        said.update(operation["type"] for operation in made)
        no_change += not made
        if shape(applied.pages[0].blocks) == shape(recorded.blocks) and all(o.applied for o in applied.outcomes):
            equal += 1
        else:
            different.append(row["id"])
    expressible = total - inexpressible.total()
    print(f"slate_ops: {expressible} of {total} cases expressible ({no_change} of them change nothing),")
    print(f"  {equal} of {expressible} give the recorded result, by {dict(said)}; not: {dict(inexpressible)}")
    assert different == []
    assert total == 197
    assert (expressible, no_change, equal) == SLATE
