"""Golden cases and actual outputs: what was asked, what should come of it, and what came (NOTES, "Evals")."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from scalepan.evals.blocks import Page, PageOperations


class Expected(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What should come of a case: operations on pages, or, for free text, an output."""

    operations: list[PageOperations] = msgspec.field(default_factory=list)
    total_success_count: Annotated[int, Meta(ge=0)] | None = None
    output: Any = None


class Case(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One golden case."""

    id: Annotated[str, Meta(min_length=1)]
    expected: Expected
    name: str = ""
    user_message: str = ""
    pages: list[Page] = msgspec.field(default_factory=list)
    scorers: list[dict[str, Any]] | None = None
    tags: list[str] = msgspec.field(default_factory=list)


class Output(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an agent made of a case. Keys that are not known here are left alone."""

    id: str = ""
    operations: list[PageOperations] = msgspec.field(default_factory=list)
    output: Any = None
    duration_ms: Annotated[float, Meta(ge=0)] | None = None
    error: str | None = None
