"""Real edits as the block model has them.

Slate and JSON Patch operations are sequential: each path names the tree after the operation before it. Scalepan anchors
a list to the page before the first operation. So paths are followed here: `Row` keeps every original block in its place
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.evals import Block, Page, PageOperations

DATA = Path(__file__).parents[2].parent / "shared" / "data"
NOT_FOUND = "target not found"

Json = dict[str, Any]


def rows(name: str) -> list[Json]:
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{file} is not here: the real data stands beside the project, in ../shared/data")
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class InexpressibleError(Exception):
    """The block model has no word for it."""


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
