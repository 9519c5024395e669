"""anti-hallucination: did anything change that was not asked for? (contract evals.21 to evals.24)

The operations are applied, and every block of the original pages is looked up in the resulting ones. Allowed are the
changes that the golden case asks for, at the place where it asks for them, and with its content if that is exact. If it
is not, the new text may state no fact that is neither in the pages, nor in the instruction, nor in the golden case.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec

from scalepan.evals.apply import NO_TARGET, NOT_FOUND, UNKNOWN_PAGE, BlockNotes, Node
from scalepan.evals.blocks import Block, BlockOperation, Page
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context, Evidence
from scalepan.evals.facts import Known, facts
from scalepan.evals.patterns import asked_for, literals
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import nothing_to_judge, ratio
from scalepan.evals.scorers.content_quality import expects_exactly
from scalepan.score import Score

NAME = "anti-hallucination"
NOT_ASKED = object()
MOST_FACTS = 100
"""How many new facts are shown; one is enough to fail."""
ASKED_MS = 100.0
"""How long one pattern may search for what it asked for."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`literal`: any new block fails (contract evals.22). None: as the policy says."""

    literal: bool | None = None


class PageChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One change that nobody asked for: the block, and its text before and after."""

    page_id: str
    block_id: str
    before: str | None = None
    after: str | None = None


class NewFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A number, date, name, address, quotation or identifier that the input does not have."""

    page_id: str
    block_id: str
    kind: str
    text: str


class AntiHallucinationDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The three checks, and the evidence against each."""

    no_new_content: bool
    no_deleted_blocks: bool
    only_specified_changes: bool
    new_blocks: list[PageChange]
    deleted_blocks: list[PageChange]
    changed_blocks: list[PageChange]
    new_facts: list[NewFact]


def score(actual: Output, expected: Expected, context: Context) -> Score:  # noqa: ARG001 - every scorer's signature
    """1 if nothing was added, lost or changed beyond what was asked, else 0."""
    evidence = context.evidence
    if not evidence.pages:
        return nothing_to_judge(NAME, "the case has no pages")
    options: Options = context.options or Options()
    literal = context.policy.literal_hallucination if options.literal is None else options.literal
    new: list[PageChange] = []
    deleted: list[PageChange] = []
    changed: list[PageChange] = []
    open_: list[tuple[str, Block]] = []
    asked = {group.page_id: [] for group in expected.operations}  # type: dict[str, list[BlockOperation]]
    for group in expected.operations:
        asked[group.page_id] += group.operations
    for page_id, notes in evidence.applied.notes.items():
        if notes.root.touched:
            allowed = _Allowed(notes, asked.get(page_id, []), literal=literal)
            for node in _touched(notes):
                new += [_added(page_id, block) for block in _new_blocks(node, allowed)]
                deleted += [_lost(page_id, block) for block in _lost_blocks(node, allowed)]
                changed += [_change(page_id, *pair) for pair in _changed_blocks(node, allowed)]
            open_ += [(page_id, block) for block in allowed.open_blocks]
    deleted += _unknown_deletions(expected, evidence)
    facts_ = list(islice(_new_facts(open_, expected, context), MOST_FACTS))
    details = AntiHallucinationDetails(
        no_new_content=not new and not facts_,
        no_deleted_blocks=not deleted,
        only_specified_changes=not changed,
        new_blocks=new,
        deleted_blocks=deleted,
        changed_blocks=changed,
        new_facts=facts_,
    )
    found = (
        f"{len(new)} added, {len(deleted)} lost, {len(changed)} changed without being asked, {len(facts_)} new facts"
    )
    return ratio(NAME, 0.0 if new or deleted or changed or facts_ else 1.0, found, details)


def _unknown_deletions(expected: Expected, evidence: Evidence) -> Iterator[PageChange]:
    """Deletions of a block that does not exist: the agent made it up."""
    asked = {(group.page_id, *_named(one)) for group in expected.operations for one in group.operations}
    for page_id, operation, reason in evidence.applied.outcomes:
        if operation.type == "delete" and reason in (NOT_FOUND, UNKNOWN_PAGE, NO_TARGET):
            id_, index = _named(operation)
            if (page_id, id_, index) not in asked:
                yield PageChange(page_id=page_id, block_id=id_ if id_ is not None else f"index {index}")


def _named(operation: BlockOperation) -> tuple[str | None, int | None]:
    return operation.target_block_id, operation.target_index


def _new_facts(open_: Sequence[tuple[str, Block]], expected: Expected, context: Context) -> Iterator[NewFact]:
    """Facts without a source, in text for which the golden case gives no exact content."""
    stated = [
        (page_id, one, fact)
        for page_id, block in open_
        for one in Page("", blocks=[block]).walk()
        for fact in dict.fromkeys(facts(one.text, is_title=one.type.startswith(("head", "title"))))
    ]
    if not stated:
        return
    known = Known(_sources(expected, context.evidence))
    limits = msgspec.structs.replace(context.policy.patterns, timeout_ms=ASKED_MS)
    looked_at: set[str] = set()
    for page_id, block, fact in stated:
        if not known.has(fact) and block.id not in looked_at:
            looked_at.add(block.id)
            for text in asked_for(_patterns(expected), block.text, limits):
                known.add(text)
        if not known.has(fact):
            yield NewFact(page_id=page_id, block_id=block.id, kind=fact.kind, text=fact.text)


def _sources(expected: Expected, evidence: Evidence) -> Iterator[str]:
    """Everything that the agent was given, and the golden case's own texts."""
    yield evidence.instruction
    for page in evidence.pages:
        yield page.title
        yield page.text
    yield from map(literals, _patterns(expected))
    for group in expected.operations:
        yield from (text for text in map(expects_exactly, group.operations) if text is not None)


def _patterns(expected: Expected) -> list[str]:
    listed = (one.expected_content_patterns or () for group in expected.operations for one in group.operations)
    return list(chain.from_iterable(listed))


class _Allowed:
    """What a golden case permits on one page, by the block or gap that it names."""

    def __init__(self, notes: BlockNotes, asked: Sequence[BlockOperation], *, literal: bool) -> None:
        self.literal = literal
        self.deletes: set[Node] = set()
        self.replaces: dict[Node, str | None] = {}
        """The exact text that is asked for, or None if any text will do."""
        self.open_blocks: list[Block] = []
        """The text that was written where any text will do."""
        self._inserts: dict[tuple[Node, int], list[str | None]] = {}
        for operation in asked:
            if operation.type == "insert":
                parent, gap = notes.gap(operation)
                if parent is not None:
                    self._inserts.setdefault(_place(parent, gap), []).append(expects_exactly(operation))
                continue
            node = notes.find(operation)
            if node is not None and operation.type == "delete":
                self.deletes.add(node)
            elif node is not None:
                self.replaces[node] = expects_exactly(operation)

    def takes_insert(self, parent: Node, gap: int, blocks: Sequence[Block]) -> bool:
        """Whether such an insert is asked for at this place; each is asked for once. Exact ones are looked at first."""
        wanted = [] if self.literal else self._inserts.get(_place(parent, gap), [])
        for choice in (_text(blocks), None):
            if choice in wanted:
                wanted.remove(choice)
                if choice is None:
                    self.open_blocks += blocks
                return True
        return False

    def is_exactly(self, node: Node) -> bool:
        """Whether a block was replaced by exactly what was asked for, so that its content needs no check."""
        exact = self.replaces.get(node)
        return exact is not None and not self.literal and exact == _text(node.replacement or [])


def _place(parent: Node, gap: int) -> tuple[Node, int]:
    """Gaps with only deleted blocks between them are one place in the resulting page."""
    while gap and parent.children[gap - 1].deleted:
        gap -= 1
    return parent, gap


def _touched(notes: BlockNotes) -> Iterator[Node]:
    """Blocks at or below which something changed, in reading order; the page itself first."""
    waiting = [notes.root]
    while waiting:
        node = waiting.pop()
        yield node
        if not node.deleted:
            waiting.extend(child for child in reversed(node.children) if child.touched)


def _new_blocks(node: Node, allowed: _Allowed) -> Iterator[Block]:
    """Inserted among the children without being asked for, or as children of a replacement."""
    for gap, groups in sorted(node.gaps.items()):
        for blocks in groups:
            if not allowed.takes_insert(node, gap, blocks):
                yield from blocks
    if node.replacement and not allowed.is_exactly(node):
        known = _inside(node)
        brought = list(Page("", blocks=node.replacement).walk())[1:]
        yield from (block for block in brought if block.id not in known)


def _lost_blocks(node: Node, allowed: _Allowed) -> Iterator[Block]:
    """Deleted without being asked for, or left out by a replacement that has children of its own."""
    if node.deleted and node not in allowed.deletes:
        yield node.block
    elif node.replacement and node.replacement[0].children and not allowed.is_exactly(node):
        kept = {block.id for block in Page("", blocks=node.replacement).walk()}
        asked = {deleted.block.id for deleted in allowed.deletes}
        yield from (block for id_, block in _inside(node).items() if id_ not in kept | asked)


def _changed_blocks(node: Node, allowed: _Allowed) -> Iterator[tuple[Block, str]]:
    """Replaced without being asked for, or with other content than the exact one asked for; and the new text."""
    if not node.replacement:
        return
    first = node.replacement[0]
    exact = allowed.replaces.get(node, NOT_ASKED)
    if exact is NOT_ASKED:
        if _looks(first) != _looks(node.block):
            yield node.block, _text(node.replacement)
    elif exact is None:
        allowed.open_blocks.append(first)
    elif exact != _text(node.replacement):
        yield node.block, _text(node.replacement)
    if not allowed.is_exactly(node):
        known = _inside(node)
        for block in list(Page("", blocks=node.replacement).walk())[1:]:
            if block.id in known and _looks(block) != _looks(known[block.id]):
                yield known[block.id], block.text


def _inside(node: Node) -> dict[str, Block]:
    """The blocks that were inside a block, by id."""
    return {block.id: block for block in Page("", blocks=node.block.children).walk()}


def _looks(block: Block) -> tuple[str, str]:
    return block.type, block.text


def _text(blocks: Sequence[Block]) -> str:
    return Page("", blocks=list(blocks)).text


def _added(page_id: str, block: Block) -> PageChange:
    return PageChange(page_id=page_id, block_id=block.id, after=block.text)


def _lost(page_id: str, block: Block) -> PageChange:
    return PageChange(page_id=page_id, block_id=block.id, before=block.text)


def _change(page_id: str, block: Block, after: str) -> PageChange:
    return PageChange(page_id=page_id, block_id=block.id, before=block.text, after=after)
