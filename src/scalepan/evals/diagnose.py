"""What broke? From low scores to causes, each with its evidence and its place (contract evals.36)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any, NamedTuple

import msgspec

from scalepan.errors import quoted
from scalepan.evals.blocks import BlockOperation, Page
from scalepan.evals.cases import Case, Output
from scalepan.evals.context import Evidence, Where
from scalepan.evals.lint import lint
from scalepan.evals.patterns import near_miss
from scalepan.evals.registry import bind
from scalepan.evals.result import ScorerResult
from scalepan.evals.run import CaseResult
from scalepan.evals.scorers import (
    anti_hallucination,
    contains,
    content_quality,
    json_equal,
    numeric,
    operation_accuracy,
    regex,
    target_block_precision,
)
from scalepan.evals.scorers._text import TextDetails
from scalepan.policy.evals import Evals

KEYS = {
    operation_accuracy.NAME: "operation_accuracy_low",
    target_block_precision.NAME: "target_precision_low",
    content_quality.NAME: "content_quality_low",
    anti_hallucination.NAME: "anti_hallucination_failed",
}
CHECKS = {
    "operation_accuracy_low": ("unmatchedOperations", "which of type, target and position differs"),
    "target_precision_low": ("incorrectTargets", "why the target was not found"),
    "content_quality_low": ("contentIssues", "whether a pattern is too strict or not valid"),
    "anti_hallucination_failed": ("the difference between input and output", "what was added, deleted or changed"),
}
"""By key: what to check, and what to analyze there (contract evals.36)."""
NOTHING_KEY = "nothing_measured"
CAUSES = {
    "type mismatch": "wrong type",
    "target mismatch": "wrong target",
    "position mismatch": "wrong position",
    "missing": "missing",
}
# Which failure of the agent a cause points to (contract evals.37).
MODES = {
    "wrong type": "misread instruction",
    "wrong target": "misread instruction",
    "wrong position": "misread instruction",
    "extra": "misread instruction",
    "missing": "partial processing",
    "target missed": "partial processing",
    "pattern nearly matched": "pattern too strict, or content slightly off",
    "pattern not found": "content not as asked",
    "invented block": "hallucination",
    "block lost": "hallucination",
    "untouched block changed": "hallucination",
    "invented fact": "hallucination",
    "unknown block deleted": "hallucination",
    "not judged": "",
    "score too low": "",
    "nothing measured": "",
}
SENTENCES = {
    "wrong type": "The wrong type of operation was used",
    "wrong target": "The wrong target was edited",
    "wrong position": "The wrong position was chosen for an insert",
    "extra": "An extra operation was done",
    "missing": "An expected operation is missing",
    "target missed": "An expected target was missed",
    "pattern nearly matched": "A pattern nearly matched",
    "pattern not found": "An expected pattern was not found in the content",
    "invented block": "An invented block was added",
    "block lost": "A block was lost",
    "untouched block changed": "An untouched block changed",
    "invented fact": "An invented fact was stated",
    "unknown block deleted": "A delete names a block that does not exist",
    "not judged": "It could not be judged",
    "score too low": "The score is too low",
    "nothing measured": "The case did not pass",
}


SHOWN = 3
"""How many differences a sentence names."""
NEAR_MISSES, NEAR_MISS_MS = 5, 100.0
"""How many missed patterns of a case are searched for near misses, and for how long each: it is only a hint."""


class Cause(NamedTuple):
    """One thing that broke: the key, the cause, its evidence, where in the document, and the failure mode."""

    case_id: str
    key: str
    cause: str
    evidence: str
    where: Where = ""
    diff: str = ""
    in_long_document: bool = False

    @property
    def mode(self) -> str:
        """Which known failure of agents this points to."""
        if self.cause == "pattern not found" and self.in_long_document and self.where in ("middle", "end"):
            return "context loss in a long document"
        return MODES[self.cause]

    @property
    def sentence(self) -> str:
        """What broke, as a sentence."""
        place = f" ({self.where} of the document)" if self.where else ""
        return f"{SENTENCES[self.cause]}{place}: {self.evidence}."

    def to_dict(self) -> dict[str, Any]:
        """For programs, without empty fields."""
        told = {"cause": self.cause, "where": self.where, "evidence": self.evidence, "mode": self.mode}
        return {key: value for key, value in {**told, "diff": self.diff}.items() if value}


class Diagnosis(NamedTuple):
    """Why a case failed, and what may be wrong with the golden case itself."""

    causes: list[Cause]
    golden_faults: list[str]

    def by_key(self) -> dict[str, list[Cause]]:
        """The causes by the key of the scorer that they belong to."""
        keys: dict[str, list[Cause]] = {}
        for cause in self.causes:
            keys.setdefault(cause.key, []).append(cause)
        return keys

    def to_dict(self) -> dict[str, Any]:
        """For programs: by key, what to check, what to analyze, and what was found."""
        told: dict[str, Any] = {}
        for key, causes in self.by_key().items():
            check, analyze = CHECKS.get(key, ("details", "how expected and actual differ"))
            told[key] = {"check": check, "analyze": analyze, "causes": [cause.to_dict() for cause in causes]}
        return {**told, "golden_faults": self.golden_faults} if self.golden_faults else told


def diagnose(case: Case, output: Output, result: CaseResult, policy: Evals) -> Diagnosis:
    """Every cause behind the scorers that did not pass."""
    evidence = Evidence(case.pages, output, case.user_message)
    causes: list[Cause] = []
    if result.score.status == "not_applicable":
        causes.append(Cause(case.id, NOTHING_KEY, "nothing measured", result.score.reason))
    for one in result.results:
        if one.passed is False:
            causes += _causes(case, one, evidence, policy)
    bound = bind(case.scorers, policy) if case.scorers is not None else []
    faults = [f"{finding.path}: {finding.message}" for finding in lint(case, bound, policy)]
    return Diagnosis(causes, faults)


def key_of(type_: str) -> str:
    """The key under which the causes of a scorer stand."""
    return KEYS.get(type_, f"{type_.replace('-', '_')}_low")


def _causes(case: Case, result: ScorerResult, evidence: Evidence, policy: Evals) -> Iterator[Cause]:
    key = key_of(result.type)
    details = result.details
    if result.status == "failed":
        yield Cause(case.id, key, "not judged", result.reason)
    elif isinstance(details, operation_accuracy.OperationAccuracyDetails):
        yield from _operation_causes(case, key, details, evidence)
    elif isinstance(details, target_block_precision.TargetBlockPrecisionDetails):
        yield from _target_causes(case, key, details, evidence)
    elif isinstance(details, content_quality.ContentQualityDetails):
        yield from _content_causes(case, key, details, evidence, policy)
    elif isinstance(details, anti_hallucination.AntiHallucinationDetails):
        yield from _hallucination_causes(case, key, details, evidence)
    else:
        said = f"{result.type} is {result.score:.3f}, below {result.threshold:g}{_difference(details)}"
        yield Cause(case.id, key, "score too low", said)


def _difference(details: object) -> str:
    """How expected and actual text differ, from the details of a free-text scorer."""
    match details:
        case TextDetails() | numeric.NumericDetails():
            return f"; expected {_quoted(details.expected)}, got {_quoted(details.actual)}"
        case contains.ContainsDetails() | regex.RegexDetails():
            return f"; missing: {', '.join(map(_quoted, details.missing[:SHOWN]))}"
        case json_equal.JsonEqualDetails():
            shown = [
                f"{one.path or 'the output'}: expected {_quoted(one.expected)}, got {_quoted(one.actual)}"
                for one in details.differences[:SHOWN]
            ]
            return f"; {'; '.join(shown)}"
    return ""


def _quoted(value: object) -> str:
    return "nothing" if value is msgspec.UNSET else quoted(value)


def _operation_causes(
    case: Case, key: str, details: operation_accuracy.OperationAccuracyDetails, evidence: Evidence
) -> Iterator[Cause]:
    for miss in details.unmatched_operations:
        done = f", done: {said(miss.actual)}" if miss.actual else ""
        where = _where(miss.page_id, miss.expected, evidence)
        evidence_ = f"page '{miss.page_id}': expected {said(miss.expected)}{done}"
        yield Cause(case.id, key, CAUSES[miss.reason], evidence_, where)
    for extra in details.extra_operations:
        where = _where(extra.page_id, extra.actual, evidence)
        yield Cause(case.id, key, "extra", f"page '{extra.page_id}': {said(extra.actual)} was not asked for", where)


def _target_causes(
    case: Case, key: str, details: target_block_precision.TargetBlockPrecisionDetails, evidence: Evidence
) -> Iterator[Cause]:
    for miss in details.incorrect_targets:
        wanted = BlockOperation(
            type="replace",
            target_block_id=miss.expected.target_block_id,
            target_index=miss.expected.target_index,
        )
        got = f", hit {_target(miss.actual)}" if miss.actual else ", nothing hit"
        said = f"page '{miss.page_id}': expected {_target(miss.expected)}{got}"
        yield Cause(case.id, key, "target missed", said, _where(miss.page_id, wanted, evidence))


def _content_causes(
    case: Case, key: str, details: content_quality.ContentQualityDetails, evidence: Evidence, policy: Evals
) -> Iterator[Cause]:
    limits = msgspec.structs.replace(
        policy.patterns,
        ignore_case=details.ignore_case,
        timeout_ms=min(policy.patterns.timeout_ms, NEAR_MISS_MS),
    )
    texts = content_quality.searched(evidence, details.scope)
    long = {page.id for page in case.pages if sum(1 for _ in page.walk()) >= policy.long_document}
    for number, missed in enumerate(details.missed_patterns):
        where = _where(missed.page_id, missed.operation, evidence)
        said = f"page '{missed.page_id}': '{missed.pattern}'"
        near = None
        if number < NEAR_MISSES and not missed.exact:
            near = near_miss(missed.pattern, texts.get(missed.page_id, ""), limits)
        if near is None:
            is_long = missed.page_id in long
            yield Cause(case.id, key, "pattern not found", said, where, in_long_document=is_long)
        else:
            said += f" nearly matches '{near.text}' at {near.start}, {near.errors} off"
            yield Cause(case.id, key, "pattern nearly matched", said, where)


def _hallucination_causes(
    case: Case, key: str, details: anti_hallucination.AntiHallucinationDetails, evidence: Evidence
) -> Iterator[Cause]:
    groups = [
        ("invented block", details.new_blocks),
        ("block lost", details.deleted_blocks),
        ("untouched block changed", details.changed_blocks),
    ]
    for cause, changes in groups:
        for change in changes:
            named = BlockOperation(type="replace", target_block_id=change.block_id)
            where = _where(change.page_id, named, evidence)
            said = f"page '{change.page_id}', block '{change.block_id}'"
            if change.before is None and change.after is None:
                yield Cause(case.id, key, "unknown block deleted", said)
                continue
            yield Cause(case.id, key, cause, said, where, text_diff(change.before or "", change.after or ""))

    for fact in details.new_facts:
        where = _where(fact.page_id, BlockOperation(type="replace", target_block_id=fact.block_id), evidence)
        said = f"page '{fact.page_id}', block '{fact.block_id}': {fact.kind} {quoted(fact.text)} is not in the input"
        yield Cause(case.id, key, "invented fact", said, where)


def text_diff(before: str, after: str, name: str = "") -> str:
    """What changed, line by line, as `diff -u` shows it."""
    lines = unified_diff(before.splitlines(), after.splitlines(), f"{name} before", f"{name} after", lineterm="", n=2)
    return "\n".join(list(lines)[2:])


def page_diff(before: Page, after: Page) -> str:
    """How a page changed, block by block."""
    return text_diff(before.text, after.text)


def _where(page_id: str, operation: BlockOperation, evidence: Evidence) -> Where:
    """The third of its page that an operation's target is in; of the resulting page if the block is new."""
    thirds = evidence.thirds.get(page_id, {})
    return thirds.get(evidence.target(page_id, operation), "")


def said(operation: BlockOperation) -> str:
    """An operation in words: `insert after 'p1'`."""
    position = f" {operation.position}" if operation.type == "insert" and operation.position else ""
    return f"{operation.type}{position} {_target(operation)}"


def _target(target: BlockOperation | target_block_precision.Target) -> str:
    if target.target_block_id is not None:
        return f"'{target.target_block_id}'"
    return f"index {target.target_index}" if target.target_index is not None else "nothing"


def grouped(causes: Sequence[Cause]) -> list[tuple[str, str, int, list[str]]]:
    """Causes and where they happen, most frequent first: cause, place, count, cases."""
    counts = Counter((cause.cause, cause.where) for cause in causes)
    return [
        (cause, where, count, list(dict.fromkeys(c.case_id for c in causes if (c.cause, c.where) == (cause, where))))
        for (cause, where), count in counts.most_common()
    ]
