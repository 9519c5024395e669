"""Stand-ins for a language model: deterministic, offline, and named as what they are."""

from karat.confidence.stand_ins.compare import Disagreement
from karat.confidence.stand_ins.coverage import coverage
from karat.confidence.stand_ins.library import Place
from karat.confidence.stand_ins.support import Claim, Supported, Verdict, support, support_many

__all__ = ["Claim", "Disagreement", "Place", "Supported", "Verdict", "coverage", "support", "support_many"]
