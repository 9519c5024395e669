"""The block model on 165 JSON patches: what can be said in its words comes out as recorded, or is refused as it is."""

import json
from collections import Counter
from typing import Any

from scalepan.evals import Page, PageOperations, apply
from tests.real.blockdata import (
    NOT_FOUND,
    InexpressibleError,
    Json,
    Node,
    Row,
    as_page,
    edits_of,
    group,
    rows,
    shape,
)

PATCHES = (44, 6, 4, 44)
"""Expressible, of which change nothing, of which are refused, equal to the recorded result."""


def json_node(value: Any, path: str | None) -> Node:
    """A list is a block with children; any other value is a block whose text is its JSON."""
    if isinstance(value, list):
        inside = [json_node(item, f"{path}/{i}" if path is not None else None) for i, item in enumerate(value)]
        return Node(path, "list", "", Row(inside))
    return Node(path, "value", json.dumps(value, sort_keys=True), Row([]))


class Patched:
    """Pages that JSON patches are played on: the document if it is an array, else each member that is one."""

    def __init__(self, doc: Any) -> None:
        if isinstance(doc, list):
            self.pages = {"": json_node(doc, "").children}
        elif isinstance(doc, dict):
            self.pages = {
                "/" + key.replace("~", "~0").replace("/", "~1"): json_node(value, "/" + key).children
                for key, value in doc.items()
                if isinstance(value, list)
            }
        else:
            raise InexpressibleError("a document that is no array and has none")

    def place(self, pointer: Any) -> tuple[Row, str]:
        """The array that a pointer leads into, and its last word."""
        if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
            raise InexpressibleError("not a pointer")
        for page, row in self.pages.items():
            rest = pointer.removeprefix(page)
            if pointer.startswith(page) and rest.startswith("/"):
                *between, last = rest[1:].split("/")
                for word in between:
                    here = row.now()
                    if not word.isdecimal() or int(word) >= len(here) or here[int(word)].type != "list":
                        raise InexpressibleError("a member of an object, or inside a value")
                    row = here[int(word)].children
                return row, last
        raise InexpressibleError("a member of an object, or a whole document")

    def play(self, one: Json) -> None:
        match one.get("op"):
            case "add":
                self.add(one, self.given(one))
            case "remove":
                self.taken(one.get("path"))
            case "replace":
                row, index = self.item(one.get("path"))
                node, new = row.now()[index], self.given(one)
                if not node.id or node.children.now() or new.children.now():
                    row.remove(index)
                    row.insert(index, new)
                else:
                    node.type, node.content = new.type, new.content
            case "move" if "from" in one:
                self.add(one, self.taken(one["from"]))
            case "copy" if "from" in one:
                row, index = self.item(one["from"])
                self.add(one, _copy(row.now()[index]))
            case other:
                raise InexpressibleError(f"op {other}" if other == "test" else "a broken operation")

    def given(self, one: Json) -> Node:
        if "value" not in one:
            raise InexpressibleError("a broken operation")
        return json_node(one["value"], None)

    def item(self, pointer: Any) -> tuple[Row, int]:
        row, word = self.place(pointer)
        index = self.index(word)
        if index >= len(row.now()):
            raise IndexError(index)
        return row, index

    def taken(self, pointer: Any) -> Node:
        row, index = self.item(pointer)
        return _copy(row.remove(index))

    def add(self, one: Json, node: Node) -> None:
        row, word = self.place(one.get("path"))
        row.insert(len(row.now()) if word == "-" else self.index(word), node)

    def index(self, word: str) -> int:
        if not word.isdecimal() or (word != "0" and word.startswith("0")):
            raise InexpressibleError("a word that is no index")
        return int(word)


def _copy(node: Node) -> Node:
    return Node(None, node.type, node.content, Row([_copy(child) for child in node.children.now()]))


def test_json_patches() -> None:
    """The enabled ones; a patch with an error must leave the page as it was and say that a target is missing."""
    total = equal = no_change = refused = 0
    inexpressible: Counter[str] = Counter()
    said: Counter[str] = Counter()
    different = []
    for row in rows("json_patch_suite/cases.jsonl"):
        if row["disabled"]:
            continue
        total += 1
        try:
            patched = Patched(row["doc"])
            before = [as_page(name, blocks) for name, blocks in patched.pages.items()]
            made = _edits(patched, row["patch"], before)
        except InexpressibleError as why:
            inexpressible[str(why)] += 1
            continue
        applied = apply(before, made)
        said.update(operation.type for one in made for operation in one.operations)
        no_change += not any(one.operations for one in made)
        if row["has_expected"]:
            recorded = [as_page(name, blocks) for name, blocks in Patched(row["expected"]).pages.items()]
            good = all(outcome.applied for outcome in applied.outcomes)
        else:
            recorded, good = before, [outcome.reason for outcome in applied.outcomes] == [NOT_FOUND]
            refused += 1
        if good and [shape(page.blocks) for page in applied.pages] == [shape(page.blocks) for page in recorded]:
            equal += 1
        else:
            different.append(row["id"])
    expressible = total - inexpressible.total()
    print(f"json_patch_suite: {expressible} of {total} enabled cases expressible ({no_change} change nothing,")
    print(f"  {refused} are refused), {equal} of {expressible} give the recorded result, by {dict(said)};")
    print(f"  not: {dict(inexpressible)}")
    assert different == []
    assert total == 161
    assert (expressible, no_change, refused, equal) == PATCHES


def _edits(patched: Patched, patch: list[Json], before: list[Page]) -> list[PageOperations]:
    """The operations of each page; an index that is not there is said as it stands."""
    for number, one in enumerate(patch):
        try:
            patched.play(one)
        except IndexError as missing:
            if number or len(patch) > 1 or len(before) != 1 or one["path"].count("/") != before[0].id.count("/") + 1:
                raise InexpressibleError("an index that is not there, behind other operations") from None
            kind = {"add": "insert", "remove": "delete", "replace": "replace"}.get(one["op"])
            if kind is None:
                raise InexpressibleError("an index that is not there, in two places") from None
            position = {"position": "before"} if kind == "insert" else {}
            content = {"content": json.dumps(one["value"])} if "value" in one else {}
            return group(before[0].id, [{"type": kind, "targetIndex": missing.args[0], **position, **content}])
    made = []
    for (name, blocks), page in zip(patched.pages.items(), before, strict=True):
        made += group(name, list(edits_of(blocks, page_is_empty=not page.blocks)))
    return made
