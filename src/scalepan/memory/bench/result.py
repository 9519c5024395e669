"""What came of a bench: how each level did, by recall and nDCG, and which pass lines were reached (memory.md, 8)."""

from collections.abc import Mapping, Sequence
from math import log2

import msgspec

LEAST_RECALL, LEAST_NDCG, MOST_ACTIVATE_MS, MOST_FALLBACKS = 0.70, 0.45, 1500.0, 0.01
AS_THE_POLICY_HAS_IT, AS_THE_SPEC_HAS_IT = "as the policy has it", "L2+L1"
"""The two ways that activations are timed."""


class Level(msgspec.Struct, frozen=True):
    """How one level did. Without numbers it was not measured, and `reason` says why."""

    level: str
    what: str
    recall: float | None = None
    ndcg: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    reason: str | None = None


class Line(msgspec.Struct, frozen=True):
    """A pass line (contract memory.73). `passed` is None where nothing was measured."""

    name: str
    limit: str
    measured: float | None
    shown: str
    passed: bool | None


class Bench(msgspec.Struct, frozen=True):
    """What came of a bench."""

    source: str
    k: int
    claims: int
    queries: int
    levels: list[Level]
    lines: list[Line]
    activate_ms: dict[str, dict[str, float]]
    """By level: p50 and p90."""
    fallback_rate: float | None
    model: str
    policy_version: str
    notes: list[str] = []

    @property
    def missed(self) -> list[Line]:
        """The lines that were measured and not reached."""
        return [line for line in self.lines if line.passed is False]


def recall_at(found: Sequence[str], gold: Mapping[str, float], k: int) -> float:
    """How much of what is relevant is among the first k.

    >>> recall_at(["a", "x", "b"], {"a": 1, "b": 1}, k=2)
    0.5
    """
    return sum(1 for id_ in found[:k] if id_ in gold) / len(gold)


def ndcg_at(found: Sequence[str], gold: Mapping[str, float], k: int) -> float:
    """How near the first k are to the best order: each counts its relevance over log2(rank + 1).

    >>> round(ndcg_at(["x", "a"], {"a": 1}, k=2), 3)
    0.631
    """
    best = _gain(sorted(gold.values(), reverse=True)[:k])
    return _gain([gold.get(id_, 0.0) for id_ in found[:k]]) / best


def _gain(relevances: Sequence[float]) -> float:
    return sum(relevance / log2(place + 2) for place, relevance in enumerate(relevances))


def pass_lines(
    k: int, levels: Sequence[Level], activate_ms: Mapping[str, Mapping[str, float]], fallback_rate: float | None
) -> list[Line]:
    """The pass lines (contract memory.73), measured or not. The hybrid stands last among the levels."""
    hybrid = levels[-1]
    lines = [
        _at_least(f"Recall@{k}, hybrid", hybrid.recall, LEAST_RECALL),
        _at_least(f"nDCG@{k}, hybrid", hybrid.ndcg, LEAST_NDCG),
    ]
    for name in (AS_THE_POLICY_HAS_IT, AS_THE_SPEC_HAS_IT):
        p90 = activate_ms[name]["p90"] if name in activate_ms else None
        lines.append(
            _at_most(f"activate p90, {name}", p90, MOST_ACTIVATE_MS, f"{MOST_ACTIVATE_MS:,.0f} ms", "{:.1f} ms")
        )
    lines.append(_at_most("search_fallback / search", fallback_rate, MOST_FALLBACKS, f"{MOST_FALLBACKS:.0%}", "{:.1%}"))
    return lines


def _at_least(name: str, measured: float | None, limit: float) -> Line:
    shown = "not measured" if measured is None else f"{measured:.3f}"
    return Line(name, f">= {limit:.2f}", measured, shown, None if measured is None else measured >= limit)


def _at_most(name: str, measured: float | None, limit: float, said: str, form: str) -> Line:
    shown = "not measured" if measured is None else form.format(measured)
    return Line(name, f"<= {said}", measured, shown, None if measured is None else measured <= limit)
