"""Where the four questions meet: recall, act, judge confidence, and learn from the outcome."""

from scalepan.loop.circle import Session, session
from scalepan.loop.factors import factors_from_recall, factors_from_trace
from scalepan.loop.offers import claims_from_trace
from scalepan.loop.report import Report

__all__ = ["Report", "Session", "claims_from_trace", "factors_from_recall", "factors_from_trace", "session"]
