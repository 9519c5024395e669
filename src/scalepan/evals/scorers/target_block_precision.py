"""target-block-precision: was the right block edited, whatever was done to it? (contract evals.13)"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

import msgspec

from scalepan.errors import counted
from scalepan.evals.apply import BlockNotes
from scalepan.evals.blocks import BlockOperation
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import nothing_to_judge, ratio
from scalepan.score import Score

NAME = "target-block-precision"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Takes none."""


class Target(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What an operation points at."""

    target_block_id: str | None
    target_index: int | None


class Incorrect(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An expected target that was not hit, and one that was hit instead, if any is left."""

    page_id: str
    expected: Target
    actual: Target | None


class TargetBlockPrecisionDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """See contract evals.13."""

    correct_targets: int
    total_targets: int
    incorrect_targets: list[Incorrect]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """Expected targets that are hit by an operation of the same page, one to one."""
    notes = context.evidence.applied.notes
    wanted, hit = _targets(expected), _targets(actual)
    correct = 0
    incorrect: list[Incorrect] = []
    for page_id, targets in wanted.items():
        others = hit.get(page_id, [])
        partner = pair(targets, others, notes.get(page_id))
        correct += len(partner)
        taken = set(partner.values())
        left = iter([other for number, other in enumerate(others) if number not in taken])
        for number, target in enumerate(targets):
            if number not in partner:
                incorrect.append(Incorrect(page_id=page_id, expected=target, actual=next(left, None)))
    total = sum(map(len, wanted.values()))
    details = TargetBlockPrecisionDetails(correct_targets=correct, total_targets=total, incorrect_targets=incorrect)
    if not total:
        return nothing_to_judge(NAME, "no operation is expected, so there is no target", details)
    return ratio(NAME, correct / total, f"{correct} of {counted(total, 'target')} hit", details)


def _targets(side: Output | Expected) -> dict[str, list[Target]]:
    pages: dict[str, list[Target]] = {}
    for group in side.operations:
        pages.setdefault(group.page_id, []).extend(map(_target, group.operations))
    return pages


def _target(operation: BlockOperation) -> Target:
    return Target(operation.target_block_id, operation.target_index)


def pair(wanted: Sequence[Target], hit: Sequence[Target], page: BlockNotes | None = None) -> dict[int, int]:
    """The largest one-to-one matching by id or index, from positions in `wanted` to positions in `hit`."""
    return _Pairing([_keys(target, page) for target in wanted], [_keys(target, page) for target in hit]).partner


class _Pairing:
    """Augmenting paths: without a free partner, try a taken one, whose owner then looks for another."""

    def __init__(self, wanted: Sequence[list[Hashable]], hit: Sequence[list[Hashable]]) -> None:
        self.wanted = wanted
        self.by_key: defaultdict[Hashable, list[int]] = defaultdict(list)
        for number, keys in enumerate(hit):
            for key in keys:
                self.by_key[key].append(number)
        self.free = {key: numbers[::-1] for key, numbers in self.by_key.items()}
        self.owner: dict[int, int] = {}
        self.partner: dict[int, int] = {}
        for start in range(len(wanted)):
            self.search(start)

    def search(self, start: int) -> None:
        path, asked = [start], list[int]()
        # The taken ones of each key are tried once per search.
        remaining: dict[Hashable, Iterator[int]] = {}
        seen: set[int] = set()
        while path:
            keys = self.wanted[path[-1]]
            found = self.free_one(keys)
            if found is not None:
                for who, got in zip(path, [*asked, found], strict=True):
                    self.owner[got], self.partner[who] = who, got
                return
            for key in keys:
                remaining.setdefault(key, iter(self.by_key[key]))
            taken = next((n for key in keys for n in remaining[key] if n not in seen), None)
            if taken is None:
                path.pop()
                del asked[-1:]
            else:
                seen.add(taken)
                asked.append(taken)
                path.append(self.owner[taken])
        # No path leads to a free one, now or later: the next search need not look here again.
        for key in remaining:
            self.by_key[key] = []

    def free_one(self, keys: list[Hashable]) -> int | None:
        for key in keys:
            numbers = self.free.get(key, [])
            while numbers and numbers[-1] in self.owner:
                numbers.pop()
            if numbers:
                return numbers[-1]
        return None


def _keys(target: Target, page: BlockNotes | None) -> list[Hashable]:
    """The keys that a target can be hit by. An id and an index of the same original block are one key.

    Two absent values do not match, so they give no key.
    """
    keys: list[Hashable] = []
    if target.target_block_id is not None:
        keys.append(("id", target.target_block_id))
    index = target.target_index
    if index is not None:
        blocks = page.page.blocks if page is not None else ()
        keys.append(("id", blocks[index].id) if index < len(blocks) else ("index", index))
    return list(dict.fromkeys(keys))
