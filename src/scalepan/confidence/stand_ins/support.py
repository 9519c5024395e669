"""Do the sources support the answer? A stand-in for a judge: each sentence beside the source sentences nearest to it.

It compares words, numbers, dates, names and negation. It does not understand: a claim that it calls supported is one
that it found nothing against.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from scalepan.confidence.stand_ins.claims import ClaimFacts, facts
from scalepan.confidence.stand_ins.compare import Disagreement, disagreements
from scalepan.confidence.stand_ins.library import Library, Place
from scalepan.confidence.stand_ins.likeness import Likeness
from scalepan.embed import Embedder
from scalepan.policy.stand_ins import StandIns, Support
from scalepan.score import Part, Score, not_measured
from scalepan.text import Sentence, sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Verdict = Literal["supported", "contradicted", "undecided"]
NAME = "support"
STAND_IN = "stand-in without a language model"
_DEFAULT = StandIns()
_EVIDENCE = 3
"""A sentence of an answer is often made of a few of the source."""


class AnswerClaim(msgspec.Struct, frozen=True):
    """One sentence of the answer and what became of it."""

    text: str
    start: int
    end: int
    verdict: Verdict
    grade: float | None
    """From 0 to 1; None where it says nothing that could be looked up."""
    match: float
    """How much of it the nearest source sentences have, from 0 to 1."""
    evidence: Place | None
    disagreements: tuple[Disagreement, ...] = ()


class Supported(msgspec.Struct, frozen=True):
    """The evidence of a support score: every claim, in the answer's order."""

    claims: tuple[AnswerClaim, ...]

    def count(self, verdict: Verdict) -> int:
        """How many claims got this verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)


def support(answer: str, sources: Sequence[str], encoder: Embedder | None = None, policy: StandIns = _DEFAULT) -> Score:
    """How well the sources carry the answer, with a verdict a sentence.

    >>> score = support("Sales fell by 3 % in 2021.", ["In 2021 sales rose by three percent."])
    >>> [(claim.verdict, [found.kind for found in claim.disagreements]) for claim in score.details.claims]
    [('contradicted', ['antonym'])]
    """
    return support_many([(answer, sources)], encoder, policy)[0]


def support_many(
    pairs: Sequence[tuple[str, Sequence[str]]], encoder: Embedder | None = None, policy: StandIns = _DEFAULT
) -> list[Score]:
    """The same for many answers, each with its sources: all is encoded in one go, equal sources are read once."""
    if not policy.support.enabled:
        return [not_measured(NAME, "switched off: confidence.stand_ins.support.enabled") for _ in pairs]
    libraries: dict[tuple[str, ...], Library] = {}
    asked = [(answer, (sources,) if isinstance(sources, str) else tuple(sources)) for answer, sources in pairs]
    for _, key in asked:
        if key not in libraries:
            libraries[key] = Library(key)
    said = [(sentences(answer), libraries[key]) for answer, key in asked]
    texts: list[str] = []
    for claims, library in said:
        both = [*{claim.text for claim in claims}, *library.texts]
        # One long text must not cost the others their vectors.
        texts += both if len(both) <= policy.max_embedded else []
    likeness = Likeness(texts, encoder, policy)
    return [_judge(claims, library, likeness, policy) for claims, library in said]


def _judge(said: list[Sentence], library: Library, likeness: Likeness, policy: StandIns) -> Score:
    if not said:
        return not_measured(NAME, "the answer is empty")
    if not library.places:
        return not_measured(NAME, "there are no sources")
    unique = list(dict.fromkeys(sentence.text for sentence in said))
    rows = likeness.between(unique, library.texts)
    known = {
        text: _claim(text, library, None if rows is None else rows[at], policy.support)
        for at, text in enumerate(unique)
    }
    claims = tuple(
        msgspec.structs.replace(known[sentence.text], start=sentence.start, end=sentence.end) for sentence in said
    )
    grades = [claim.grade for claim in claims if claim.grade is not None]
    if not grades:
        return not_measured(NAME, "no sentence of the answer says anything that could be looked up")
    mean, worst, share = float(np.mean(grades)), min(grades), policy.support.worst
    base = min(1.0, mean * (1 - share) + worst * share)
    note = f"{STAND_IN}: {likeness.note(len(unique) + len(library.texts))}"
    parts = (Part("mean_sentence", mean, 1 - share, note=note), Part("worst_sentence", worst, share, note=note))
    return Score(NAME, base, parts=parts, base=base, details=Supported(claims))


def _claim(text: str, library: Library, likeness: "Floats | None", policy: Support) -> AnswerClaim:
    """The verdict on one sentence; where it stands in the answer is for the caller to say."""
    claim = library.facts_of(text) or facts(text)
    nearest = library.nearest(claim, _EVIDENCE, likeness)
    place = library.places[nearest[0]] if nearest else None
    if not claim.terms:
        return AnswerClaim(text, 0, len(text), "undecided", None, 0.0, place)
    evidence = [library.facts[at] for at in nearest]
    match = _match(claim, evidence, library)
    if likeness is not None:
        match = max(match, float(likeness.max()))
    found = disagreements(claim, library, evidence if match >= policy.related else [], policy)
    grade = min(1.0, match / policy.full_match)
    for disagreement in found:
        grade *= policy.contradicted if disagreement.contradicts else policy.unfound
    return AnswerClaim(text, 0, len(text), _verdict(match, found, policy), grade, match, place, tuple(found))


def _verdict(match: float, found: list[Disagreement], policy: Support) -> Verdict:
    if any(disagreement.contradicts for disagreement in found):
        return "contradicted"
    return "supported" if match >= policy.supported and not found else "undecided"


def _match(claim: ClaimFacts, evidence: list[ClaimFacts], library: Library) -> float:
    """The share of the claim's words, by weight, that the evidence has."""
    there = {term for fact in evidence for term in fact.words}
    carried = sum(library.weight(term) for term in claim.terms if term in there)
    return min(1.0, carried / sum(library.weight(term) for term in claim.terms))
