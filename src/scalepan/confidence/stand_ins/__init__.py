"""Stand-ins for a language model: deterministic, offline, and named as what they are."""

from scalepan.confidence.stand_ins.compare import Disagreement
from scalepan.confidence.stand_ins.coverage import coverage
from scalepan.confidence.stand_ins.library import Place
from scalepan.confidence.stand_ins.support import AnswerClaim, Supported, Verdict, support, support_many

__all__ = ["AnswerClaim", "Disagreement", "Place", "Supported", "Verdict", "coverage", "support", "support_many"]
