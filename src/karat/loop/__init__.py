"""Where the four questions meet: recall, act, be as sure as one may, and learn from how it ended."""

from karat.loop.circle import Session, session
from karat.loop.factors import factors_from_recall, factors_from_trace
from karat.loop.offers import claims_from_trace
from karat.loop.report import Report

__all__ = ["Report", "Session", "claims_from_trace", "factors_from_recall", "factors_from_trace", "session"]
