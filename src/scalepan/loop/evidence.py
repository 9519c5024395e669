"""How sure may an agent be during a session? By what was recalled, called, observed and judged so far."""

from collections.abc import Sequence
from typing import NamedTuple

from scalepan.confidence import ConfidenceFactors, SourceAgreementCalculator, judge_answer
from scalepan.embed import Embedder
from scalepan.loop.notes import Notes
from scalepan.loop.steps import StepDone
from scalepan.memory import Recalled
from scalepan.policy import Policy
from scalepan.score import Score


class Answered(NamedTuple):
    """An answer, and what is known of it. None: not stated, or not judged."""

    text: str = ""
    stated: float | None = None
    """By the agent itself."""
    evaluation: float | None = None
    coverage: float | None = None


def judged(
    query: str, text: str, stated: float | None, sources: list[str], policy: Policy, encoder: Embedder | None
) -> Answered:
    """An answer as judged by the policy's language model, or by a stand-in."""
    found = judge_answer(query, text, sources, policy, embedder=encoder)
    return Answered(text, stated, _measured(found.self_evaluation), _measured(found.coverage))


def _measured(score: Score) -> float | None:
    """A judged number; None if it is a fallback."""
    return score.value if all(part.source == "measured" for part in score.parts) else None


def factors_so_far(
    recalled: Sequence[Recalled], done: StepDone, texts: Sequence[str], agreement: float | None, answered: Answered
) -> ConfidenceFactors:
    """All of it as factors. `texts` are the sources with text, `agreement` is how far they agree.

    >>> done = StepDone((), (True, False), ("order 17",), ())
    >>> factors_so_far([], done, [], None, Answered()).tool_success_rate
    0.5
    """
    # The agent's own statement takes precedence.
    evaluated = answered.evaluation if answered.stated is None else answered.stated
    # Texts that were not compared do not count as disagreeing. A tool result is a source, but not a text to compare.
    sources = texts if agreement is not None else texts[:1]
    return ConfidenceFactors.from_steps(
        [one.strength for one in recalled],
        done.calls,
        sources or done.outputs[:1],
        source_agreement=0.0 if agreement is None else agreement,
        llm_self_confidence=0.5 if evaluated is None else evaluated,
        query_coverage=0.0 if answered.coverage is None else answered.coverage,
        # Before a tool ran or the answer was judged, the recall is all the evidence: an empty one must not look sure.
        is_search_step=not done.calls and evaluated is None,
    )


def agreement_of(texts: list[str], policy: Policy, encoder: Embedder | None, notes: Notes) -> float | None:
    """How far texts agree; None if they were not compared."""
    if len(texts) < 2:
        return None
    if encoder is None:
        notes.add("the sources were not compared with each other, and count as one: no encoder found")
        return None
    calculator = SourceAgreementCalculator(policy, encoder)
    score = notes.tried("the sources were not compared, and count as one", lambda: calculator.calculate(texts))
    return score.value if score is not None else None
