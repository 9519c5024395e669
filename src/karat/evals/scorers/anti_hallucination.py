"""anti-hallucination: did anything change that was not asked for? (spec scorers.md, 5)

The operations are applied, and every block of the pages before is looked up in the pages after. What is allowed is what
the golden case asks for, at the place where it asks for it, and with its content where that is given exactly.
"""

from collections.abc import Iterator, Sequence

import msgspec

from karat.evals.apply import Node, Notes
from karat.evals.blocks import Block, Operation, Page
from karat.evals.cases import Expected, Output
from karat.evals.context import Context
from karat.evals.result import ScorerDetails
from karat.evals.scorers._ratio import nothing_to_judge, ratio
from karat.evals.scorers.content_quality import expects_exactly
from karat.score import Score

NAME = "anti-hallucination"
MISSING = object()


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`literal`: the spec sample's own rule, any new block fails. None: as the policy says."""

    literal: bool | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One change that nobody asked for: the block, and its text before and after."""

    page_id: str
    block_id: str
    before: str | None = None
    after: str | None = None


class Details(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The three checks, and the evidence against each."""

    no_new_content: bool
    no_deleted_blocks: bool
    only_specified_changes: bool
    new_blocks: list[Change]
    deleted_blocks: list[Change]
    changed_blocks: list[Change]


def score(actual: Output, expected: Expected, context: Context) -> Score:  # noqa: ARG001 - every scorer's signature
    """1 if nothing was added, lost or changed beyond what was asked, else 0."""
    evidence = context.evidence
    if not evidence.pages:
        return nothing_to_judge(NAME, "the case has no pages")
    options: Options = context.options or Options()
    literal = context.policy.literal_hallucination if options.literal is None else options.literal
    new: list[Change] = []
    deleted: list[Change] = []
    changed: list[Change] = []
    asked = {group.page_id: [] for group in expected.operations}  # type: dict[str, list[Operation]]
    for group in expected.operations:
        asked[group.page_id] += group.operations
    for page_id, notes in evidence.applied.notes.items():
        if notes.root.touched:
            allowed = _Allowed(notes, [] if literal else asked.get(page_id, []), asked.get(page_id, []))
            new += _new_blocks(page_id, notes, allowed)
            deleted += _deleted_blocks(page_id, notes, allowed)
            changed += _changed_blocks(page_id, notes, allowed)
    details = Details(
        no_new_content=not new,
        no_deleted_blocks=not deleted,
        only_specified_changes=not changed,
        new_blocks=new,
        deleted_blocks=deleted,
        changed_blocks=changed,
    )
    found = f"{len(new)} added, {len(deleted)} lost, {len(changed)} changed without being asked"
    return ratio(NAME, 0.0 if new or deleted or changed else 1.0, found, details)


class _Allowed:
    """What a golden case permits on one page, by the block or gap that it names."""

    def __init__(self, notes: Notes, inserts: Sequence[Operation], others: Sequence[Operation]) -> None:
        self.deletes: set[Node] = set()
        self.replaces: dict[Node, str | None] = {}
        """The exact text that is asked for, or None where any will do."""
        self._inserts: dict[tuple[Node, int], list[str | None]] = {}
        for operation in inserts:
            if operation.type == "insert":
                parent, gap = notes.gap(operation)
                if parent is not None:
                    self._inserts.setdefault(place(parent, gap), []).append(expects_exactly(operation))
        for operation in others:
            node = notes.find(operation)
            if node is not None and operation.type == "delete":
                self.deletes.add(node)
            elif node is not None and operation.type == "replace":
                self.replaces[node] = expects_exactly(operation)

    def takes_insert(self, parent: Node, gap: int, text: str) -> bool:
        """Whether such an insert is asked for at this place; each is asked for once. Exact ones are looked at first."""
        wanted = self._inserts.get(place(parent, gap), [])
        for choice in (text, None):
            if choice in wanted:
                wanted.remove(choice)
                return True
        return False


def place(parent: Node, gap: int) -> tuple[Node, int]:
    """Gaps with only deleted blocks between them are one place in the page afterwards."""
    while gap and parent.children[gap - 1].deleted:
        gap -= 1
    return parent, gap


def _touched(notes: Notes) -> Iterator[Node]:
    """Blocks at or below which something changed, in reading order; the page itself first."""
    waiting = [notes.root]
    while waiting:
        node = waiting.pop()
        yield node
        if not node.deleted:
            waiting.extend(child for child in reversed(node.children) if child.touched)


def _new_blocks(page_id: str, notes: Notes, allowed: _Allowed) -> list[Change]:
    found = []
    for parent in _touched(notes):
        for gap, groups in sorted(parent.gaps.items()):
            for blocks in groups:
                if not allowed.takes_insert(parent, gap, _text(blocks)):
                    found += [Change(page_id=page_id, block_id=block.id, after=block.text) for block in blocks]
    return found


def _deleted_blocks(page_id: str, notes: Notes, allowed: _Allowed) -> list[Change]:
    lost = []
    for node in _touched(notes):
        if node.deleted and node not in allowed.deletes:
            lost.append(Change(page_id=page_id, block_id=node.block.id, before=node.block.text))
        elif node.replacement and node.replacement[0].children:
            # What replaced it has children of its own; the old ones are gone unless they are among them.
            kept = {block.id for block in Page("", blocks=node.replacement).walk()}
            gone = [child.block for child in node.children if child not in allowed.deletes]
            lost += [
                Change(page_id=page_id, block_id=block.id, before=block.text) for block in gone if block.id not in kept
            ]
    return lost


def _changed_blocks(page_id: str, notes: Notes, allowed: _Allowed) -> list[Change]:
    changed = []
    for node in _touched(notes):
        if not node.replacement or _is_same(node):
            continue
        after = _text(node.replacement)
        exact = allowed.replaces.get(node, MISSING)
        if exact is not None and exact != after:
            changed.append(Change(page_id=page_id, block_id=node.block.id, before=node.block.text, after=after))
    return changed


def _is_same(node: Node) -> bool:
    """Whether a block was replaced by what it was."""
    if not node.replacement or len(node.replacement) > 1:
        return False
    (new,) = node.replacement
    return (new.type, new.text) == (node.block.type, node.block.text) and not new.children


def _text(blocks: Sequence[Block]) -> str:
    return Page("", blocks=list(blocks)).text
