"""What does a page look like after operations are applied to it? (contract evals.39 to evals.42)

Ids and indexes name the page as it was before the first operation. So every operation is first noted beside the block
that it names, and the new page is built at the end. The arguments are not changed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from scalepan.evals.blocks import Block, BlockOperation, Page, PageOperations, content_blocks

UNKNOWN_PAGE = "unknown page"
NOT_FOUND = "target not found"
GONE = "target already gone"
NO_TARGET = "no target"
NO_POSITION = "an insert needs a position"
NO_CONTENT = "no content"
ID_TAKEN = "the page already has a block with this id"
BAD_CONTENT = "content is neither text nor blocks"


class OperationOutcome(NamedTuple):
    """The result of one operation; the reason is empty if it was applied."""

    page_id: str
    operation: BlockOperation
    reason: str

    @property
    def applied(self) -> bool:
        """Whether it took effect."""
        return not self.reason


class Applied(NamedTuple):
    """The resulting pages, the result of each operation, and the notes that both were made from."""

    pages: list[Page]
    outcomes: list[OperationOutcome]
    notes: dict[str, "BlockNotes"]


def apply(pages: Sequence[Page], operations: Sequence[PageOperations]) -> Applied:
    """Apply the operations to the pages.

    >>> page = Page("p", blocks=[Block("a", content="one"), Block("b", content="two")])
    >>> edit = PageOperations(page_id="p", operations=[BlockOperation(type="delete", target_block_id="a")])
    >>> apply([page], [edit]).pages[0].text
    'two'
    """
    notes = {page.id: BlockNotes(page) for page in pages}
    outcomes = []
    for group in operations:
        noted = notes.get(group.page_id)
        for operation in group.operations:
            reason = noted.take(operation) if noted is not None else UNKNOWN_PAGE
            outcomes.append(OperationOutcome(group.page_id, operation, reason))
    return Applied([notes[page.id].result() for page in pages], outcomes, notes)


class Node:
    """A block of the original page, and what is noted about it. Most blocks stay unchanged and cost little."""

    children: "Sequence[Node]" = ()
    gaps: Mapping[int, list[list[Block]]] = MappingProxyType({})
    """What is inserted among the children, by operation. Gap i is before child i: `after a`, `before b` are one."""
    replacement: list[Block] | None = None
    deleted = False
    touched = False
    """Whether anything at or below it changes; unchanged subtrees are reused."""

    def __init__(self, block: Block, parent: int, index: int) -> None:
        self.block = block
        self.parent = parent
        """Its index in the notes' nodes, not the node itself: a cycle would have to wait for the garbage collector."""
        self.index = index


class BlockNotes:
    """A page and, for each block, the operations on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = Node(Block(page.id, "page"), -1, 0)
        self.nodes = [self.root]
        self.by_id: dict[str, Node] = {}
        waiting = [(0, page.blocks)]
        while waiting:
            number, blocks = waiting.pop()
            siblings: list[Node] = []
            self.nodes[number].children = siblings
            for index, block in enumerate(blocks):
                node = Node(block, number, index)
                siblings.append(node)
                self.by_id.setdefault(block.id, node)
                if block.children:
                    waiting.append((len(self.nodes), block.children))
                self.nodes.append(node)
        self._inserted = 0

    def find(self, operation: BlockOperation) -> Node | None:
        """The block that an operation names: by id, or by index among the page's own blocks where there is no id."""
        if operation.target_block_id is not None:
            return self.by_id.get(operation.target_block_id)
        index = operation.target_index
        return self.root.children[index] if index is not None and 0 <= index < len(self.root.children) else None

    def take(self, operation: BlockOperation) -> str:
        """Note one operation; the reason why not, or an empty string."""
        if operation.type == "insert":
            return self._insert(operation)
        node = self.find(operation)
        if node is None:
            return _no_target(operation)
        if node.deleted or node.replacement is not None or self._is_gone(self.nodes[node.parent]):
            return GONE
        if operation.type == "delete":
            node.deleted = True
        else:
            brought = self._brought(operation)
            if isinstance(brought, str):
                return brought
            node.replacement = _replacement(node.block, brought, operation)
        self._touch(node)
        return ""

    def _insert(self, operation: BlockOperation) -> str:
        brought = self._brought(operation)
        if isinstance(brought, str):
            return brought
        if any(block.id in self.by_id for block in brought):
            return ID_TAKEN
        parent, gap = self.gap(operation)
        if parent is None:
            return _no_target(operation)
        if operation.position is None and self.root.children:
            return NO_POSITION
        if self._is_gone(parent):
            return GONE
        if not parent.gaps:
            parent.gaps = defaultdict(list)
        parent.gaps[gap].append(brought)
        self._touch(parent)
        return ""

    def gap(self, operation: BlockOperation) -> tuple[Node | None, int]:
        """Whose children, and before which of them. An empty page has one gap, which needs no target."""
        if not self.root.children and operation.target_block_id is None and not operation.target_index:
            return self.root, 0
        node = self.find(operation)
        if node is None:
            return None, 0
        return self.nodes[node.parent], node.index + (operation.position == "after")

    def _brought(self, operation: BlockOperation) -> list[Block] | str:
        self._inserted += 1
        try:
            return content_blocks(operation, f"new-{self._inserted}") or NO_CONTENT
        except (msgspec.ValidationError, RecursionError):
            return BAD_CONTENT

    def _is_gone(self, node: Node) -> bool:
        """Whether a block or an ancestor has lost its children: deleted, or replaced by a block with children."""
        while True:
            if node.deleted or (node.replacement is not None and node.replacement[0].children):
                return True
            if node.parent < 0:
                return False
            node = self.nodes[node.parent]

    def _touch(self, node: Node) -> None:
        while not node.touched:
            node.touched = True
            if node.parent >= 0:
                node = self.nodes[node.parent]

    def generated(self) -> list[Block]:
        """The blocks that were inserted or replaced another, in reading order, without the unchanged ones."""
        return _brought_below(self.root) if self.root.touched else []

    def result(self) -> Page:
        """The resulting page."""
        if not self.root.touched:
            return self.page
        return msgspec.structs.replace(self.page, blocks=_children_after(self.root))


def _no_target(operation: BlockOperation) -> str:
    return NO_TARGET if operation.target_block_id is None and operation.target_index is None else NOT_FOUND


def _replacement(old: Block, brought: list[Block], operation: BlockOperation) -> list[Block]:
    """The first block takes the old one's place and id, its type unless it has one, its children unless it has some.

    The other new blocks follow it.
    """
    first, *rest = brought
    type_ = old.type if isinstance(operation.content, str) and operation.block_type is None else first.type
    return [Block(old.id, type_, first.content, first.children), *rest]


def _children_after(parent: Node) -> list[Block]:
    blocks: list[Block] = []
    for node in parent.children:
        blocks.extend(chain.from_iterable(parent.gaps.get(node.index, ())))
        if not node.deleted:
            first, *rest = node.replacement or [node.block]
            if node.touched and not (node.replacement and first.children):
                first = msgspec.structs.replace(first, children=_children_after(node))
            blocks += [first, *rest]
    blocks.extend(chain.from_iterable(parent.gaps.get(len(parent.children), ())))
    return blocks


def _brought_below(parent: Node) -> list[Block]:
    blocks: list[Block] = []
    for node in parent.children:
        blocks.extend(chain.from_iterable(parent.gaps.get(node.index, ())))
        if node.deleted or not node.touched:
            continue
        blocks += node.replacement or ()
        if not (node.replacement and node.replacement[0].children):
            blocks += _brought_below(node)
    blocks.extend(chain.from_iterable(parent.gaps.get(len(parent.children), ())))
    return blocks
