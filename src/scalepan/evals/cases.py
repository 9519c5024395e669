"""Golden cases and actual outputs: what was asked, expected and produced (contract evals.1 to evals.6)."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from scalepan.check import resolved
from scalepan.evals.blocks import Page, PageOperations


class Expected(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """The expected result of a case: operations on pages, or, for free text, an output or parts of it."""

    operations: list[PageOperations] = msgspec.field(default_factory=list)
    total_success_count: Annotated[int, Meta(ge=0)] | None = None
    output: Any = None
    contains: str | list[str] | None = None
    """Texts that the output contains, anywhere."""
    matches: str | list[str] | None = None
    """Regular expressions that are found in the output."""


class Case(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One golden case: block edits if it has pages or expects operations, free text if it expects an output."""

    id: Annotated[str, Meta(min_length=1)]
    expected: Expected
    name: str = ""
    user_message: str = ""
    pages: list[Page] = msgspec.field(default_factory=list)
    scorers: list[dict[str, Any]] | None = None
    tags: list[str] = msgspec.field(default_factory=list)
    group: str | None = None
    """Cases of one group, such as questions about one document, count as one observation when runs are compared."""

    @property
    def is_edit(self) -> bool:
        """Whether blocks are edited: there are pages, or operations are expected."""
        return bool(self.pages) or any(group.operations for group in self.expected.operations)

    @property
    def is_text(self) -> bool:
        """Whether an output is expected."""
        expected = self.expected
        return expected.output is not None or expected.contains is not None or expected.matches is not None

    def without_answer(self) -> "Case":
        """The case as a task may see it: without what is expected and how it is scored."""
        return msgspec.structs.replace(self, expected=Expected(), scorers=None)


class Output(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an agent produced for a case. Unknown keys are ignored."""

    id: str = ""
    operations: list[PageOperations] = msgspec.field(default_factory=list)
    output: Any = None
    duration_ms: Annotated[float, Meta(ge=0)] | None = None
    error: str | None = None


resolved(Case, Output)
