"""Where the four questions meet: recall, act, be as sure as one may, and learn from how it ended."""

from scalepan.loop.circle import Session, session
from scalepan.loop.factors import factors_from_recall, factors_from_trace
from scalepan.loop.offers import claims_from_trace
from scalepan.loop.report import Report

__all__ = ["Report", "Session", "claims_from_trace", "factors_from_recall", "factors_from_trace", "session"]
