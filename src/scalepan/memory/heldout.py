"""Does a fit find more, on queries that it was not fitted on? Each half is asked under curves of the other half."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from scalepan.errors import InputError, counted
from scalepan.memory.bench.result import ndcg_at, recall_at
from scalepan.memory.calibrate import HALVES, Fitted, half_of
from scalepan.memory.overlaid import overlaid
from scalepan.stats.paired import bca_interval, grouped

if TYPE_CHECKING:
    from scalepan.memory.memory import Memory

AT = 12
"""Contract memory.73 is about so many."""
LEAST_LOSS = 0.0005
"""A smaller one is not seen in three digits."""
NO_QUERIES = "votes have no query that could be asked again"
TOO_FEW = "too few labels to fit each half of the queries"


class HeldOut(NamedTuple):
    """What queries find without curves and under those of the other half: means, and the paired 95 % interval."""

    queries: int
    recall_before: float
    recall_after: float
    ndcg_before: float
    ndcg_after: float
    low: float | None
    high: float | None

    @property
    def worse(self) -> bool:
        """Whether it loses. Without a gain there is no reason to keep it, so chance is no excuse."""
        return self.ndcg_after - self.ndcg_before < -LEAST_LOSS

    @property
    def span(self) -> str:
        """The difference in nDCG, and its interval."""
        gain = f"{self.ndcg_after - self.ndcg_before:+.3f}"
        return gain if self.low is None or self.high is None else f"{gain} ({self.low:+.3f} to {self.high:+.3f})"

    def __str__(self) -> str:
        asked = counted(self.queries, "query", "queries")
        return f"nDCG@{AT} {self.ndcg_before:.3f} to {self.ndcg_after:.3f}, {self.span}, {asked}"


class Fits(dict[str, Fitted]):
    """Curves by side; what they bring on queries that they were not fitted on; and whether they were kept."""

    held_out: HeldOut | None = None
    not_measured: str = ""
    """Why there is no `held_out`."""
    kept: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            **{side: one._asdict() for side, one in self.items()},
            "held_out": None if self.held_out is None else {**self.held_out._asdict(), "worse": self.held_out.worse},
            "not_measured": self.not_measured or None,
            "kept": self.kept,
        }


class WorseFitError(InputError):
    """Curves that make recall worse, and were not kept. `fits` has what was measured."""

    def __init__(self, fits: Fits) -> None:
        super().__init__(
            f"the fit makes recall worse on queries that it was not fitted on: {fits.held_out}; "
            "nothing was kept (--anyway, or anyway=True, keeps it)"
        )
        self.fits = fits


def held_out(
    memory: "Memory",
    labelled: Sequence[tuple[str, set[str]]],
    by_half: Mapping[int, Mapping[str, Fitted]],
    model: str,
    terms: str,
) -> HeldOut | None:
    """Labelled queries, each asked without curves and under those fitted on the other half; None if none can be.

    `by_half` has, for each half of the queries, the curves that were fitted without it.
    """
    plain = overlaid(memory, {"calibration": {"use": False}}, "calibrate")
    under = {
        half: overlaid(memory, {"calibration": as_policy(by_half[half], model, terms)}, "calibrate")
        for half in HALVES
        if by_half[half]
    }
    rows = []
    asked = [(query, relevant) for query, relevant in labelled if half_of(query) in under and relevant]
    for query, relevant in asked:
        gold = dict.fromkeys(relevant, 1.0)
        both = [[one.id for one in way.search(query, AT)] for way in (plain, under[half_of(query)])]
        rows.append([measured(ids, gold, AT) for measured in (recall_at, ndcg_at) for ids in both])
    if not rows:
        return None
    figures = np.array(rows)
    # The same query with other labels is one observation.
    low, high = bca_interval(grouped(figures[:, 3] - figures[:, 2], [query for query, _ in asked]))
    told = bool(np.isfinite([low, high]).all())
    recall_before, recall_after, ndcg_before, ndcg_after = figures.mean(axis=0).tolist()
    ends = (low, high) if told else (None, None)
    return HeldOut(len(rows), recall_before, recall_after, ndcg_before, ndcg_after, *ends)


def as_policy(fitted: Mapping[str, Fitted], model: str, terms: str) -> dict[str, Any]:
    """Curves as `retrieval.calibration` has them; a side without one has none, whatever was there."""
    curves = {side: msgspec.to_builtins(fitted[side].curve) if side in fitted else None for side in ("text", "vector")}
    return {"use": True, **curves, "model": model, "terms": terms}
