"""Where the four questions meet: recall, act, judge confidence, and learn from the outcome."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.loop.circle import Session, session
    from scalepan.loop.factors import factors_from_recall, factors_from_trace
    from scalepan.loop.offers import claims_from_trace
    from scalepan.loop.report import Report

__all__ = ["Report", "Session", "claims_from_trace", "factors_from_recall", "factors_from_trace", "session"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.loop.circle": ["Session", "session"],
        "scalepan.loop.factors": ["factors_from_recall", "factors_from_trace"],
        "scalepan.loop.offers": ["claims_from_trace"],
        "scalepan.loop.report": ["Report"],
    },
)
