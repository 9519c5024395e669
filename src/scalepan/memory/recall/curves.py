"""Which fitted curves are used, and why not? (contract memory.18). They never stop a recall."""

from typing import TYPE_CHECKING, Any, NamedTuple

from scalepan.memory.recall.weigh import SideFound
from scalepan.memory.state import Rules
from scalepan.policy.retrieval import Curve, Morphology
from scalepan.text import terms_version

if TYPE_CHECKING:
    from scalepan.embed import Embedder

PLAIN = {"text": "min-max", "vector": "(cos + 1) / 2"}
"""What a side is mapped by where no curve fits."""


class Misfit(NamedTuple):
    """A fitted curve that is not used: it does not load, or belongs to another encoder or other term rules."""

    curve: str
    problem: str

    def payload(self) -> dict[str, Any]:
        """The event about it."""
        return {"from": f"{self.curve} curve", "to": PLAIN.get(self.curve, "plain mapping"), "problem": self.problem}


class Curves(NamedTuple):
    """The curves of both sides, None where there is none that fits; and those that do not."""

    text: Curve | None
    vector: Curve | None
    misfits: list[Misfit]

    def notes(self, text: SideFound, vectors: SideFound) -> list[str]:
        """Which sides are mapped plainly, and why."""
        plain = [
            PLAIN[name]
            for name, side in (("text", text), ("vector", vectors))
            if side.level != "" and not side.calibrated
        ]
        if not plain:
            return []
        if self.misfits:
            advice = "; ".join(f"the fitted {misfit.curve} curve {misfit.problem}" for misfit in self.misfits)
        elif self.text is not None or self.vector is not None:
            advice = "the fitted curve is for another level or side"
        else:
            advice = "'scalepan memory calibrate' fits it"
        return [f"not calibrated: {' and '.join(plain)} is used; {advice}"]


def fitted_curves(rules: Rules, morphology: Morphology, encoder: "Embedder | None") -> Curves:
    """The curves that the policy has and that fit what is searched here."""
    fitted = rules.policy.retrieval.calibration
    if not fitted.use:
        return Curves(None, None, [])
    misfits = [Misfit(name, f"does not load: {problem}") for name, problem in _broken(rules).items()]
    text, vector = fitted.text, fitted.vector
    terms = terms_version(morphology)
    if text is not None and fitted.terms not in ("", terms):
        misfits.append(Misfit("text", f"is for other term rules: '{fitted.terms}', not '{terms}'"))
        text = None
    if vector is not None and encoder is not None and fitted.model not in ("", encoder.model_id):
        misfits.append(Misfit("vector", f"is for another encoder: '{fitted.model}', not '{encoder.model_id}'"))
        vector = None
    return Curves(text, vector, misfits)


def _broken(rules: Rules) -> dict[str, str]:
    """The first fault of each curve that does not load; of neither alone where all of them are at fault."""
    found: dict[str, str] = {}
    for problem in rules.broken_curves:
        side = problem.path.removeprefix("retrieval.calibration").strip(".").partition(".")[0]
        found.setdefault(side if side in PLAIN else "text and vector", str(problem))
    return found
