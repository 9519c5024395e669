"""Where do a claim and the sources disagree? Numbers, dates, names, negation and opposites, each in its own way."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from scalepan.confidence.stand_ins.antonyms import english_opposites, japanese_opposites
from scalepan.confidence.stand_ins.claims import ClaimFacts
from scalepan.confidence.stand_ins.library import Library
from scalepan.policy.stand_ins import Support

_MOST = 64
"""So many numbers, dates or names of a sentence are compared with those of another: more are a table."""
_SAME = 0.6
"""Two sentences that share this much of the longer one are about the same thing."""

Kind = Literal["number", "date", "name", "negation", "antonym"]


class Disagreement(msgspec.Struct, frozen=True, gc=False):
    """Something that the answer says and the sources do not, and what they say instead, if anything."""

    kind: Kind
    said: str
    instead: str = ""

    @property
    def contradicts(self) -> bool:
        """Whether the sources say something else, and not merely nothing."""
        return bool(self.instead)


def disagreements(
    claim: ClaimFacts, library: Library, evidence: list[ClaimFacts], policy: Support
) -> list[Disagreement]:
    """Everything that disagrees. `evidence` is what the sources say about this; empty if they say nothing."""
    found: list[Disagreement] = []
    if policy.numbers:
        found += _numbers(claim, library, evidence)
    if policy.dates:
        found += _dates(claim, library, evidence)
    if policy.names:
        found += _names(claim, library, evidence)
    if policy.negation:
        found += _negation(claim, evidence)
    if policy.antonyms:
        found += _antonyms(claim, evidence)
    return found


def _numbers(claim: ClaimFacts, library: Library, evidence: list[ClaimFacts]) -> Iterator[Disagreement]:
    unfound = [said for said in claim.numbers if not library.has_number(said)]
    if not unfound:
        return
    there = list({(number.value, number.unit): number for fact in evidence for number in fact.numbers}.values())[:_MOST]
    # What the claim says right is not what it says wrong.
    free = [number for number in there if not any(mine.agrees(number) for mine in claim.numbers[:_MOST])]
    for said in unfound:
        rival = next((number.text for number in free if number.unit == said.unit), "")
        # `first` is often only a way to begin.
        if rival or said.unit != "ordinal":
            yield Disagreement("number", said.text, rival)


def _dates(claim: ClaimFacts, library: Library, evidence: list[ClaimFacts]) -> Iterator[Disagreement]:
    there = [date for fact in evidence for date in fact.dates[:_MOST]]
    for said in claim.dates:
        if not library.has_date(said):
            yield Disagreement("date", said.text, next((date.text for date in there if said.rivals(date)), ""))


def _names(claim: ClaimFacts, library: Library, evidence: list[ClaimFacts]) -> Iterator[Disagreement]:
    mine = {word for name in claim.names for word in name.words}
    there = [name for fact in evidence for name in fact.names[:_MOST]]
    other = next((name.text for name in there if not mine.intersection(name.words)), "")
    for said in claim.names:
        if missing := library.missing(said):
            # Bob Smith where the sources have Bob Ross: the half that is known says who is meant.
            known = set(said.words).difference(missing)
            near = next((name.text for name in there if known.intersection(name.words)), "")
            yield Disagreement("name", said.text, near or other)


def _negation(claim: ClaimFacts, evidence: list[ClaimFacts]) -> Iterator[Disagreement]:
    """Something that one side denies and the other says outright."""
    said = [term for term in claim.terms if term in claim.denied and _only(term, evidence, denied=False)]
    # One word may be denied of something else; two, or a denial where the sources deny nothing, are the matter itself.
    if len(said) > 1 or (said and not any(fact.denies for fact in evidence)):
        yield Disagreement("negation", f"not: {' '.join(said)}", _with(said[0], evidence))
    if evidence and not claim.denies and evidence[0].denies and _same_matter(claim, evidence[0]):
        lost = [term for term in claim.terms if term in evidence[0].denied]
        if lost and all(_only(term, evidence, denied=True) for term in lost):
            yield Disagreement("negation", " ".join(lost), evidence[0].text)


def _only(term: str, evidence: list[ClaimFacts], *, denied: bool) -> bool:
    """Whether the evidence has the word, and denies it everywhere, or nowhere."""
    return {term in fact.denied for fact in evidence if term in fact.words} == {denied}


def _with(term: str, evidence: list[ClaimFacts]) -> str:
    return next(fact.text for fact in evidence if term in fact.words)


def _same_matter(claim: ClaimFacts, source: ClaimFacts) -> bool:
    """Whether two sentences share most of their words, each way."""
    return len(claim.words & source.words) >= _SAME * max(len(claim.words), len(source.words))


def _antonyms(claim: ClaimFacts, evidence: list[ClaimFacts]) -> Iterator[Disagreement]:
    for term in claim.terms:
        if not any(term in fact.words for fact in evidence):
            opposites = (word for word in sorted(english_opposites(term)) if _opposed(term, word, claim, evidence))
            if opposite := next(opposites, ""):
                yield Disagreement("antonym", term, opposite)
    there = {word for fact in evidence for word in fact.poles}
    for word in sorted(claim.poles - there):
        opposed = sorted(japanese_opposites()[word] & there - claim.poles)
        # 増えない agrees with 減る: where one side denies something, what is denied is too uncertain here.
        if opposed and not claim.denies and not any(fact.denies for fact in evidence if opposed[0] in fact.poles):
            yield Disagreement("antonym", word, opposed[0])


def _opposed(term: str, opposite: str, claim: ClaimFacts, evidence: list[ClaimFacts]) -> bool:
    """`rose` is opposed to `fell`, and agrees with `did not fall`."""
    return opposite not in claim.words and any(
        opposite in fact.words and (term in claim.denied) == (opposite in fact.denied) for fact in evidence
    )
