"""The document that an agent edits: pages, nested blocks, text runs, and operations (contract evals.1 to evals.3)."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from scalepan.check import in_order, resolved

# Documents are trees: none of these can be part of a cycle, so the garbage collector need not look (gc=False).

OperationType = Literal["insert", "replace", "delete"]
Position = Literal["before", "after"]


class Run(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A run of text. `styles` belongs to the editor; no scorer looks at it."""

    type: str = "text"
    text: str = ""
    styles: Any = None


class Block(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A paragraph, a heading, a list item: its own text, and the blocks inside it. `props` is the editor's."""

    id: str
    type: str = "paragraph"
    content: list[Run] | str = msgspec.field(default_factory=list)
    children: list["Block"] = msgspec.field(default_factory=list)
    props: Any = None

    @property
    def text(self) -> str:
        """The block's own text, without its children's."""
        if isinstance(self.content, str):
            return self.content
        return "".join([run.text for run in self.content])


class Page(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A document."""

    id: str
    title: str = ""
    version: int | str | None = None
    blocks: list[Block] = msgspec.field(default_factory=list)

    def walk(self) -> Iterator[Block]:
        """Every block in reading order, children after their parent."""
        waiting = self.blocks[::-1]
        while waiting:
            block = waiting.pop()
            yield block
            if block.children:
                waiting.extend(block.children[::-1])

    @property
    def text(self) -> str:
        """What patterns are searched in: every block's text, joined by newlines."""
        return "\n".join([block.text for block in self.walk()])


class BlockOperation(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """One edit. A golden case gives the expected content as patterns or exactly; an output has the content itself."""

    type: Annotated[OperationType, in_order(OperationType)]
    target_block_id: str | None = None
    target_index: Annotated[int, Meta(ge=0)] | None = None
    position: Annotated[Position, in_order(Position)] | None = None
    block_type: str | None = None
    content: str | list[Any] | dict[str, Any] | None = None
    expected_content_patterns: list[str] | None = None


class PageOperations(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """The edits of one page."""

    page_id: str
    operations: list[BlockOperation]


resolved(list[Run], list[Block])


def content_blocks(operation: BlockOperation, new_id: str) -> list[Block]:
    """The content of an operation (text, runs, blocks) as blocks. Raises ValidationError for anything else."""
    content = operation.content
    type_ = operation.block_type or "paragraph"
    if content is None:
        return []
    if isinstance(content, str):
        return [Block(new_id, type_, content)]
    if isinstance(content, dict):
        content = [content]
    if all(isinstance(item, dict) and _is_run(item) for item in content):
        return [Block(new_id, type_, msgspec.convert(content, list[Run]))] if content else []
    return msgspec.convert(_with_ids(content, new_id), list[Block])


def _is_run(item: dict[str, Any]) -> bool:
    return "text" in item and item.keys() <= {"type", "text", "styles"}


def _with_ids(blocks: Any, prefix: str) -> Any:
    """New blocks may lack ids, at any depth; those get one."""
    if not isinstance(blocks, list):
        return blocks
    named = []
    for number, block in enumerate(blocks):
        id_ = f"{prefix}.{number}"
        if isinstance(block, dict):
            block = {"id": id_, **block, "children": _with_ids(block.get("children", []), id_)}
        named.append(block)
    return named


def content_text(operation: BlockOperation) -> str:
    """The text of an operation's content, blocks joined by newlines."""
    blocks = content_blocks(operation, "new")
    return Page("", blocks=blocks).text
