"""What in a golden case can never fail, or never pass, or contradicts itself?"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from scalepan.errors import InputError, counted, quoted
from scalepan.evals.blocks import BlockOperation, Page
from scalepan.evals.cases import Case
from scalepan.evals.kinds import can_measure
from scalepan.evals.patterns import PatternTimeoutError, found, plain_words
from scalepan.evals.registry import Bound
from scalepan.policy.evals import Evals

FREE_TEXT = {"exact", "contains", "regex", "json-equal", "levenshtein", "numeric", "embedding-similarity"}
OWN_KEYS = {"contains": "contains", "regex": "matches"}
"""Scorers whose expectation a case may give under a key of their own."""


class LintFinding(NamedTuple):
    """One fault of a golden case: where, what kind, and in words."""

    case_id: str
    path: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"case {self.case_id}: {self.path}: {self.message}"


def lint(case: Case, bound: list[Bound], policy: Evals) -> list[LintFinding]:
    """Every fault of one case and of the scorers that judge it."""
    found_ = [
        *_scorer_faults(bound),
        *_page_faults(case),
        *_operation_faults(case, bound, policy),
        *_free_text_faults(case, bound, policy),
        *_nothing_faults(case, bound),
        *_count_faults(case),
    ]
    return [LintFinding(case.id, *fault) for fault in found_]


_Fault = tuple[str, str, str]


def _scorer_faults(bound: list[Bound]) -> Iterator[_Fault]:
    for index, one in enumerate(bound):
        if one.threshold == 0.0:
            yield f"scorers[{index}].threshold", "never-fails", f"{one.type} passes from 0 on, so it cannot fail"
    if bound and not any(one.weight for one in bound):
        yield "scorers", "no-average", "every weight is 0, so there is no average"


def _page_faults(case: Case) -> Iterator[_Fault]:
    for id_, count in Counter(page.id for page in case.pages).items():
        if count > 1:
            yield "pages", "duplicate-id", f"page id {quoted(id_)} occurs {count} times"
    for index, page in enumerate(case.pages):
        for id_, count in Counter(block.id for block in page.walk()).items():
            if count > 1:
                yield f"pages[{index}]", "duplicate-id", f"block id {quoted(id_)} occurs {count} times"


def _nothing_faults(case: Case, bound: list[Bound]) -> Iterator[_Fault]:
    if not case.is_edit and not case.is_text and not can_measure(case, [one.type for one in bound]):
        message = "has no operations, no output and no pages: nothing is measured, so it cannot pass"
        yield "expected", "nothing-measured", message
    elif bound and not can_measure(case, [one.type for one in bound]):
        listed = ", ".join(one.type for one in bound)
        yield "scorers", "nothing-measured", f"none of {listed} applies to this case, so it cannot pass"


def _operation_faults(case: Case, bound: list[Bound], policy: Evals) -> Iterator[_Fault]:
    in_page = any(_searches_page(one) for one in bound)
    pages = {page.id: _Looked(page) for page in case.pages}
    for i, group in enumerate(case.expected.operations):
        page = pages.get(group.page_id)
        path = f"expected.operations[{i}]"
        if page is None:
            yield f"{path}.pageId", "never-passes", f"{quoted(group.page_id)} is not a page of this case"
        for j, operation in enumerate(group.operations):
            here = f"{path}.operations[{j}]"
            if page is not None:
                yield from _target_faults(operation, page, here)
            for k, pattern in enumerate(operation.expected_content_patterns or ()):
                searched = page if in_page else None
                yield from _pattern_faults(pattern, searched, f"{here}.expectedContentPatterns[{k}]", policy)


def _searches_page(one: Bound) -> bool:
    """Whether a scorer searches the whole page for patterns, so that it finds text that was there before."""
    return one.type == "operation-result" or (one.type == "content-quality" and one.options.scope == "page")


class _Looked:
    """The faults of a page's operations."""

    def __init__(self, page: Page) -> None:
        self.id = page.id
        self.blocks = page.blocks
        self.ids = {block.id for block in page.walk()}
        self.text = page.text


def _target_faults(operation: BlockOperation, page: _Looked, path: str) -> Iterator[_Fault]:
    id_, index = operation.target_block_id, operation.target_index
    if id_ is None and index is None:
        if page.blocks or operation.type != "insert":
            yield path, "never-passes", "has neither targetBlockId nor targetIndex"
        return
    if id_ is not None and id_ not in page.ids:
        yield f"{path}.targetBlockId", "never-passes", f"{quoted(id_)} is not a block of page {quoted(page.id)}"
    if index is not None and index >= len(page.blocks):
        yield f"{path}.targetIndex", "never-passes", f"{index} is out of range: the page has {len(page.blocks)} blocks"
    elif id_ in page.ids and index is not None and page.blocks[index].id != id_:
        message = f"{quoted(id_)} is not the block at {index}, which is {quoted(page.blocks[index].id)}"
        yield path, "id-and-index-disagree", message


def _pattern_faults(pattern: str, page: _Looked | None, path: str, policy: Evals) -> Iterator[_Fault]:
    try:
        if found(pattern, "", policy.patterns):
            yield path, "never-fails", f"{quoted(pattern)} matches the empty text"
        elif page is not None and found(pattern, page.text, policy.patterns):
            yield path, "never-fails", f"{quoted(pattern)} already matches the original page"
    except PatternTimeoutError as error:
        yield path, "slow-pattern", str(error)
    except InputError as error:
        yield path, "never-passes", error.problem
    if _is_whole_text(pattern):
        yield path, "full-match-only", f"{quoted(pattern)} matches only a whole page; search for a part of it"


def _is_whole_text(pattern: str) -> bool:
    """Whether a pattern is a literal text between `^` and `$`."""
    if not pattern.startswith("^") or not pattern.endswith("$") or pattern.endswith(r"\$"):
        return False
    choices = plain_words(pattern[1:-1])
    return choices is not None and len(choices) == 1 and len(choices[0]) == 1


def _free_text_faults(case: Case, bound: list[Bound], policy: Evals) -> Iterator[_Fault]:
    expected = case.expected
    for name in sorted({one.type for one in bound} & FREE_TEXT):
        key = OWN_KEYS.get(name, "output")
        own = getattr(expected, key)
        path, wanted = (f"expected.{key}", own) if own is not None else ("expected.output", expected.output)
        if wanted is None:
            yield path, "never-passes", f"is missing, and {name} needs it"
        elif name == "contains" and not [text for text in _listed(wanted) if text != ""]:
            yield path, "never-fails", "an empty text is in every output"
        elif name == "regex":
            for pattern in _listed(wanted):
                if isinstance(pattern, str):
                    yield from _pattern_faults(pattern, None, path, policy)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _count_faults(case: Case) -> Iterator[_Fault]:
    stated = case.expected.total_success_count
    pages = len({group.page_id for group in case.expected.operations if group.operations})
    if stated is not None and stated != pages:
        message = f"totalSuccessCount says {counted(stated, 'page')}, and expected operations name {pages}"
        yield "expected.totalSuccessCount", "count-disagrees", message
