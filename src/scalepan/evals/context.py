"""What a scorer may look at besides the output and the expectation: the pages before and after, and its options."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scalepan.evals.apply import Applied, BlockNotes, apply
from scalepan.evals.blocks import BlockOperation, Page
from scalepan.evals.cases import Output
from scalepan.policy.evals import Evals

if TYPE_CHECKING:
    from scalepan.embed import Embedder
    from scalepan.judge import Judge


Where = Literal["start", "middle", "end", ""]
THIRDS: tuple[Where, ...] = ("start", "middle", "end")


class Evidence:
    """The pages of one case before and after the output's operations. Computed once, when a scorer asks."""

    def __init__(self, pages: Sequence[Page], actual: Output, instruction: str = "") -> None:
        self.pages = pages
        self.actual = actual
        self.instruction = instruction
        """What the agent was told (`userMessage`)."""

    @cached_property
    def applied(self) -> Applied:
        """The output's operations, applied."""
        return apply(self.pages, self.actual.operations)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of every resulting page, by page id."""
        return {page.id: page.text for page in self.applied.pages}

    @cached_property
    def generated(self) -> dict[str, str]:
        """The text of what was inserted or replaced, by page id."""
        return {id_: Page("", blocks=notes.generated()).text for id_, notes in self.applied.notes.items()}

    @cached_property
    def thirds(self) -> dict[str, dict[str | int | None, Where]]:
        """By page, the third that each block is in; of the resulting page if the block is new."""
        places: dict[str, dict[str | int | None, Where]] = {}
        for page in (*self.applied.pages, *self.pages):
            ids = [block.id for block in page.walk()]
            here = places.setdefault(page.id, {})
            here.update((id_, THIRDS[3 * number // len(ids)]) for number, id_ in enumerate(ids))
        return places

    def target(self, page_id: str, operation: BlockOperation) -> str | int | None:
        """The block that an operation means: by id, or by index if there is no id. Both name the same block."""
        notes: BlockNotes | None = self.applied.notes.get(page_id)
        node = notes.find(operation) if notes is not None else None
        if node is not None:
            return node.block.id
        return operation.target_block_id if operation.target_block_id is not None else operation.target_index


class Context(NamedTuple):
    """What one scorer is given for one case."""

    evidence: Evidence
    policy: Evals
    options: Any = None
    embedder: "Callable[[], Embedder | None]" = lambda: None
    judge: "Callable[[], Judge] | None" = None
    """The language model of the run's policy; None if a scorer is used by itself."""
