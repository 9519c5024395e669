"""operation-accuracy: which of the expected operations were done? (contract evals.9)"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from scalepan.evals.blocks import BlockOperation
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context, Evidence
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import ratio
from scalepan.score import Score

NAME = "operation-accuracy"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`strict`: operations that nobody asked for lower the score. None: as the policy says."""

    strict: bool | None = None


class Unmatched(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An expected operation that was not done, why, and what was done instead."""

    page_id: str
    expected: BlockOperation
    reason: str
    actual: BlockOperation | None = None


class Extra(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation that nobody asked for."""

    page_id: str
    actual: BlockOperation


class OperationAccuracyDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """See contract evals.10; and the operations that were not expected."""

    matched_operations: int
    total_expected_operations: int
    unmatched_operations: list[Unmatched]
    extra_operations: list[Extra]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """Matched over expected; with nothing expected, 1 if nothing was done."""
    details = match(actual, expected, context.evidence)
    matched, total, extra = details.matched_operations, details.total_expected_operations, len(details.extra_operations)
    options: Options = context.options or Options()
    strict = context.policy.strict_operations if options.strict is None else options.strict
    if not total:
        return ratio(NAME, 0.0 if extra else 1.0, f"nothing expected, {extra} done", details)
    if strict and extra:
        return ratio(NAME, matched / (total + extra), f"{matched} of {total} done, {extra} not asked for", details)
    return ratio(NAME, matched / total, f"{matched} of {total} done", details)


class _Seen(NamedTuple):
    """An operation and the key it is matched by."""

    operation: BlockOperation
    type: str
    target: Hashable
    position: str | None


def match(actual: Output, expected: Expected, evidence: Evidence) -> OperationAccuracyDetails:
    """Match one to one within each page. Equal operations are equal, so counting them finds the best assignment."""
    wanted, done = _by_page(expected, evidence), _by_page(actual, evidence)
    matched = 0
    unmatched: list[Unmatched] = []
    extra: list[Extra] = []
    for page_id in {**wanted, **done}:
        open_, left = _leftovers(wanted[page_id], done[page_id])
        matched += len(wanted[page_id]) - len(open_)
        reasons, left = _explain(open_, left)
        unmatched += [
            Unmatched(page_id=page_id, expected=e.operation, reason=reason, actual=a.operation if a else None)
            for e, reason, a in reasons
        ]
        extra += [Extra(page_id=page_id, actual=a.operation) for a in left]
    total = sum(map(len, wanted.values()))
    return OperationAccuracyDetails(
        matched_operations=matched,
        total_expected_operations=total,
        unmatched_operations=unmatched,
        extra_operations=extra,
    )


def pairs(
    actual: Output, expected: Expected, evidence: Evidence
) -> Iterator[tuple[str, BlockOperation | None, BlockOperation | None]]:
    """Every expected operation with the one done for it or instead of it, then the extra ones."""
    wanted, done = _by_page(expected, evidence), _by_page(actual, evidence)
    for page_id in {**wanted, **done}:
        open_, left = _leftovers(wanted[page_id], done[page_id])
        instead, left = _explain(open_, left)
        others = {id(one): other for one, _, other in instead}
        equal: defaultdict[Hashable, deque[_Seen]] = defaultdict(deque)
        for seen in done[page_id]:
            equal[seen[1:]].append(seen)
        for one in wanted[page_id]:
            other = others[id(one)] if id(one) in others else equal[one[1:]].popleft()
            yield page_id, one.operation, other.operation if other else None
        yield from ((page_id, None, other.operation) for other in left)


def _by_page(side: Output | Expected, evidence: Evidence) -> defaultdict[str, list[_Seen]]:
    pages: defaultdict[str, list[_Seen]] = defaultdict(list)
    for group in side.operations:
        for operation in group.operations:
            position = operation.position if operation.type == "insert" else None
            target = evidence.target(group.page_id, operation)
            pages[group.page_id].append(_Seen(operation, operation.type, target, position))
    return pages


def _leftovers(wanted: Sequence[_Seen], done: Sequence[_Seen]) -> tuple[list[_Seen], list[_Seen]]:
    """What is left of both sides when equal operations are paired."""
    available = Counter(seen[1:] for seen in done)
    open_ = []
    for seen in wanted:
        if available[seen[1:]] > 0:
            available[seen[1:]] -= 1
        else:
            open_.append(seen)
    left = []
    # Among equal operations, the last ones are left over.
    for seen in reversed(done):
        if available[seen[1:]] > 0:
            available[seen[1:]] -= 1
            left.append(seen)
    return open_, left[::-1]


def _explain(
    open_: Sequence[_Seen], left: Sequence[_Seen]
) -> tuple[list[tuple[_Seen, str, _Seen | None]], list[_Seen]]:
    """For each unmatched expectation the nearest leftover and the first difference; then what is still left."""
    nearest = _Nearest(left)
    # Pairs that share more come first, so that a wrong position does not become a wrong type.
    chosen: dict[int, _Seen | None] = {}
    for keys in (_Nearest.BOTH, _Nearest.TARGET, _Nearest.TYPE, _Nearest.ANY):
        for index, seen in enumerate(open_):
            if chosen.get(index) is None:
                chosen[index] = nearest.take(keys, seen)
    reasons = [(seen, _reason(seen, chosen[index]), chosen[index]) for index, seen in enumerate(open_)]
    return reasons, nearest.rest()


class _Nearest:
    """Leftovers indexed by what they share, so that finding one needs no search."""

    BOTH, TARGET, TYPE, ANY = range(4)

    def __init__(self, left: Sequence[_Seen]) -> None:
        self._left = left
        self._used = [False] * len(left)
        self._index: defaultdict[tuple[int, Hashable], list[int]] = defaultdict(list)
        for number in range(len(left) - 1, -1, -1):
            for keys in range(4):
                self._index[keys, self._key(keys, left[number])].append(number)

    @staticmethod
    def _key(keys: int, seen: _Seen) -> Hashable:
        return ((seen.type, seen.target), seen.target, seen.type, None)[keys]

    def take(self, keys: int, seen: _Seen) -> _Seen | None:
        candidates = self._index.get((keys, self._key(keys, seen)), [])
        while candidates:
            number = candidates.pop()
            if not self._used[number]:
                self._used[number] = True
                return self._left[number]
        return None

    def rest(self) -> list[_Seen]:
        return [seen for seen, used in zip(self._left, self._used, strict=True) if not used]


def _reason(expected: _Seen, actual: _Seen | None) -> str:
    if actual is None:
        return "missing"
    if actual.type != expected.type:
        return "type mismatch"
    return "target mismatch" if actual.target != expected.target else "position mismatch"
