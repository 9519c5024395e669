"""The block model on real edits: 438 documentation commits, 197 editor traces and 165 JSON patches (NOTES, "Data").

Slate and JSON Patch operations are sequential: each path names the tree after the operation before it. Karat anchors a
list to the page before the first operation. So paths are followed here: `Row` keeps every original block in its place
as the anchor that it was, and notes what stands there now.

Expressible is what comes down to inserting, replacing or deleting whole blocks of the page before:
- slate: a block holds either blocks or runs of text (an inline element is neither). Inserted and removed blocks are
  inserts and deletes; whatever happens to the text, the marks or the properties of a block is a replace of it;
  a selection is no part of a page. Not expressible: moving, splitting and merging blocks, where a block would have to
  keep its identity or stand twice, and inserting into a block that has none beside which to insert.
- JSON Patch: an array is a page, or, inside another, a block with children; any other value is a block whose text is
  its JSON. add, remove and replace at an array position are insert, delete and replace; move and copy from one position
  of a page to another are what they bring and take away. Not expressible: members of objects, whole documents, and
  `test`, for which there is no operation. An index that does not exist is `target not found`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karat.evals import Block, Case, Evaluator, Output, Page, PageOperations, apply

DATA = Path(__file__).parents[2].parent / "shared" / "data"
NOT_FOUND = "target not found"
SLATE = (89, 30, 89)
"""Expressible, of which change nothing, equal to the recorded result."""
PATCHES = (44, 6, 4, 44)
"""Expressible, of which change nothing, of which are refused, equal to the recorded result."""

Json = dict[str, Any]


def rows(name: str) -> list[Json]:
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{file} is not here: the real data stands beside the project, in ../shared/data")
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class InexpressibleError(Exception):
    """The block model has no word for it."""


# doc_block_edits


def operations(raw: list[Json]) -> list[Json]:
    """The data's `update` is the spec's `replace`; `position` says something of an insert only."""
    return [{**one, "type": "replace" if one["type"] == "update" else one["type"]} for one in raw]


def documents() -> dict[str, Case]:
    made = {}
    for row in rows("doc_block_edits/cases.dev.jsonl"):
        blocks = [{"id": b["id"], "type": b["type"], "content": b["text"]} for b in row["before"]]
        groups = [{"pageId": "doc", "operations": operations(row["expected_ops"])}]
        case = {"id": row["id"], "pages": [{"id": "doc", "blocks": blocks}], "expected": {"operations": groups}}
        made[row["id"]] = msgspec.convert(case, Case)
    return made


def test_expected_operations_give_the_recorded_document() -> None:
    cases = documents()
    recorded = {row["id"]: row["after"] for row in rows("doc_block_edits/cases.dev.jsonl")}
    equal = 0
    for id_, case in cases.items():
        applied = apply(case.pages, case.expected.operations)
        after = [{"type": block.type, "text": block.text} for block in applied.pages[0].blocks]
        assert [outcome.reason for outcome in applied.outcomes if not outcome.applied] == []
        equal += after == recorded[id_]
    print(f"doc_block_edits: {equal} of {len(cases)} give the recorded document")
    assert (equal, len(cases)) == (438, 438)


def test_derived_candidates_get_their_recorded_verdicts() -> None:
    cases = documents()
    evaluator = Evaluator([{"type": "operation-accuracy"}, {"type": "anti-hallucination"}])
    recorded = {row["id"]: row["after"] for row in rows("doc_block_edits/cases.dev.jsonl")}
    wrong: list[tuple[str, str, Any, Any]] = []
    kinds: Counter[str] = Counter()
    for row in rows("doc_block_edits/derived_candidates.dev.jsonl"):
        case = cases[row["case_id"]]
        groups = [{"pageId": "doc", "operations": operations(row["ops"])}]
        output = msgspec.convert({"id": case.id, "operations": groups}, Output)
        accuracy, only = (one.score for one in evaluator.evaluate(case, output).results)
        after = [{"type": b.type, "text": b.text} for b in apply(case.pages, output.operations).pages[0].blocks]
        expect = row["expect"]
        stated = (expect["operation_accuracy"], expect["only_expected_changes"], expect["result_equals_after"])
        got = (round(accuracy or 0.0, 4), only == 1.0, after == recorded[row["case_id"]])
        kinds[row["kind"]] += 1
        if got != stated:
            wrong.append((row["case_id"], row["kind"], stated, got))
    total = sum(kinds.values())
    print(f"doc_block_edits: {total - len(wrong)} of {total} candidates get their verdict: {dict(kinds)}")
    assert wrong == []
    assert total == 2_695


# Following sequential operations


class Node:
    """A block: where it comes from, and what it is now."""

    def __init__(self, id_: str | None, type_: str, content: Any, children: "Row") -> None:
        self.id = id_
        self.type = type_
        self.content = content
        self.children = children
        self.was = (type_, json.dumps(content))

    @property
    def changed(self) -> bool:
        return self.was != (self.type, json.dumps(self.content))


class Row:
    """Blocks side by side. Original ones stay as anchors when they are removed."""

    def __init__(self, nodes: list[Node]) -> None:
        self.slots: list[tuple[Node, bool]] = [(node, True) for node in nodes]

    def now(self) -> list[Node]:
        return [node for node, here in self.slots if here]

    def _slot(self, index: int) -> int:
        here = [number for number, (_, there) in enumerate(self.slots) if there]
        if not 0 <= index < len(here):
            raise IndexError(index)
        return here[index]

    def remove(self, index: int) -> Node:
        slot = self._slot(index)
        node, _ = self.slots[slot]
        if node.id is None:
            del self.slots[slot]
        else:
            self.slots[slot] = (node, False)
        return node

    def insert(self, index: int, node: Node) -> None:
        """Behind the block that stands before it now, so that what follows one another in the list does so here."""
        if index > len(self.now()):
            raise IndexError(index)
        self.slots.insert(self._slot(index - 1) + 1 if index else 0, (node, True))


def as_content(node: Node) -> Json:
    """A new block as an operation brings it, with an id that no other has."""
    children = [as_content(child) for child in node.children.now()]
    return {
        "id": f"new {id(node)}",
        "type": node.type,
        "content": node.content,
        **({"children": children} if children else {}),
    }


def edits_of(row: Row, page_is_empty: bool) -> Iterator[Json]:
    """The operations that lead from the blocks that were to those that are."""
    anchor: Node | None = None
    waiting: list[Node] = []
    for node, here in row.slots:
        if node.id is None:
            if anchor is None:
                waiting.append(node)
            else:
                yield _insert(anchor, "after", node)
            continue
        for new in waiting:
            yield _insert(node, "before", new)
        waiting = []
        anchor = node
        if not here:
            yield {"type": "delete", "targetBlockId": node.id}
            continue
        if node.changed:
            whole = {"type": node.type, "content": node.content}
            yield {"type": "replace", "targetBlockId": node.id, "content": whole}
        yield from edits_of(node.children, page_is_empty=False)
    if waiting and not page_is_empty:
        raise InexpressibleError("an insert into a block that has none inside")
    for new in waiting:
        yield {"type": "insert", "content": as_content(new)}


def _insert(anchor: Node, position: str, node: Node) -> Json:
    return {"type": "insert", "targetBlockId": anchor.id, "position": position, "content": as_content(node)}


def as_page(id_: str, row: Row) -> Page:
    return Page(id_, blocks=[_block(node) for node in row.now()])


def _block(node: Node) -> Block:
    children = [_block(child) for child in node.children.now()]
    return msgspec.convert(
        {"id": node.id, "type": node.type, "content": node.content, "children": msgspec.to_builtins(children)}, Block
    )


def shape(blocks: list[Block]) -> list[Any]:
    """Blocks without their ids."""
    return [(block.type, msgspec.to_builtins(block.content), shape(block.children)) for block in blocks]


def group(page_id: str, made: list[Json]) -> list[PageOperations]:
    return msgspec.convert([{"pageId": page_id, "operations": made}], list[PageOperations])


# slate_ops


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


# json_patch_suite


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
