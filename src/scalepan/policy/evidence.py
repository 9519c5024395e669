"""Constants of recall by evidence: what each observation of a claim is worth, in the profiles `default` and `best`.

`python -m bench.fit_recall` fits and prints these numbers, from scifact (CC BY 4.0, ODC-By), stackfaq (CC BY-SA) and
jaquad_sentences (CC BY-SA 3.0), each set with the same weight. What none of these shows, who speaks and when, was set
by hand and never fitted; so was the threshold, after a look at locomo. docs/benchmarks.md has what they give on data
that they were not fitted on.
"""

from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice, count, number, share

Reads = Literal["any", "latin"]
MINILM = "all-MiniLM-L6-v2"
ANY_ENCODER = "any"


def _worth(what: str) -> msgspec.Meta:
    return number(what, "log-odds", ge=0)


class EvidenceWeights(Section, frozen=True, kw_only=True):
    """A probability: 1 / (1 + exp(-(bias + the sum of weight x observation))). A weight of 0: it does not count."""

    bias: Annotated[float, number("the log-odds without any evidence", "log-odds", ge=-100, le=100)]
    coverage: Annotated[float, _worth("share of the query's terms that the claim has, weighted by rarity")] = 0.0
    rarest: Annotated[float, _worth("rarity of the rarest shared term, over that of the query's rarest")] = 0.0
    text_z: Annotated[float, _worth("log(1 + z), z: how far its BM25 stands out among all readable claims")] = 0.0
    of_best: Annotated[float, _worth("its BM25 over that of the best claim")] = 0.0
    cosine_z: Annotated[float, _worth("how far its cosine stands out among all readable claims")] = 0.0
    stronger: Annotated[float, _worth("the higher of S_text and S_vec: 1 + log-odds / 12, at least 0")] = 0.0
    weaker: Annotated[float, _worth("the lower of the two")] = 0.0
    beside_text: Annotated[float, _worth("of_best of the claim before or after it, the better one")] = 0.0
    beside_meaning: Annotated[float, _worth("cosine_z of the claim before or after it, the better one")] = 0.0
    source_best: Annotated[float, _worth("of_best of the best claim of its source, or else conversation")] = 0.0
    source_z: Annotated[float, _worth("log(1 + z) of the BM25 of all claims of its source, added up")] = 0.0
    source_meaning: Annotated[float, _worth("cosine_z of the nearest claim of its source")] = 0.0
    speaker: Annotated[float, _worth("1 if the query names who said it; set by hand")] = 0.0
    date: Annotated[float, _worth("how close it was said to a date of the query; set by hand")] = 0.0


TEXT = ("coverage", "rarest", "text_z", "of_best")
VECTOR = ("cosine_z",)


class Usual(Section, frozen=True, kw_only=True):
    """How unrelated claims score. It counts as some claims beside those that are there: few say little alone."""

    mean: Annotated[float, number("mean score of claims that are not relevant", "points", ge=-1, le=1)]
    deviation: Annotated[float, number("its standard deviation", "points", ge=0)]
    claims: Annotated[int, count("how many claims this counts as", "claims")] = 200

    def scaled(self, by: float) -> "Usual":
        """The same in other units."""
        return Usual(mean=self.mean * by, deviation=self.deviation * by, claims=self.claims)

    def z(self, scores: Any, mean: float, variance: float, population: int) -> Any:
        """How far scores stand out, in standard deviations; 0 where nothing differs."""
        both = population + self.claims
        if not both:
            return 0.0 * scores
        center = (population * mean + self.claims * self.mean) / both
        spread = (
            population * (variance + (mean - center) ** 2)
            + self.claims * (self.deviation**2 + (self.mean - center) ** 2)
        ) / both
        return (scores - center) / spread**0.5 if spread > 0 else 0.0 * scores


class EncoderEvidence(Section, frozen=True, kw_only=True):
    """What is known of an encoder."""

    reads: Annotated[
        Reads,
        in_order(Reads),
        choice("scripts that it can read; a query mostly in others is recalled by words alone"),
    ] = "any"
    usual: Annotated[Usual, choice("the cosine of unrelated claims")]


class RecallEvidence(Section, frozen=True, kw_only=True):
    """The curves that ship. Those of `scalepan memory calibrate` replace `text` and `vector`."""

    pool: Annotated[
        int, count("candidates of each side, whatever the call asks for; all are scored on both sides", "claims", 1)
    ] = 1024
    threshold: Annotated[float, share("a claim enters an active context from this p_useful on")] = 0.07
    words: Annotated[Usual, choice("BM25 over the most that the query could reach")] = Usual(mean=0.01, deviation=0.02)
    encoders: Annotated[
        dict[str, EncoderEvidence],
        choice("by the beginning of the encoder's id; 'any' is for all others, whose cosines nobody has measured"),
    ] = msgspec.field(
        default_factory=lambda: {
            MINILM: EncoderEvidence(reads="latin", usual=Usual(mean=0.1, deviation=0.1)),
            ANY_ENCODER: EncoderEvidence(usual=Usual(mean=0.0, deviation=0.0, claims=0)),
        }
    )
    text: Annotated[EvidenceWeights, choice("S_text")] = EvidenceWeights(
        bias=-17.9,
        coverage=4.23,
        rarest=3.43,
        text_z=4.16,
        of_best=1.35,
    )
    vector: Annotated[EvidenceWeights, choice("S_vec")] = EvidenceWeights(
        bias=-11.8,
        cosine_z=2.09,
    )
    best: Annotated[EvidenceWeights, choice("all evidence, for profile best")] = EvidenceWeights(
        bias=-16.2,
        coverage=2.62,
        rarest=1.77,
        cosine_z=0.624,
        stronger=3.98,
        weaker=0.0505,
        beside_text=1.04,
        source_best=2.61,
        source_z=0.622,
        source_meaning=0.572,
        speaker=0.7,
        date=2,
    )
    useful: Annotated[EvidenceWeights, choice("p_useful")] = EvidenceWeights(
        bias=-6.14,
        coverage=3.09,
        stronger=2.87,
        weaker=0.956,
    )
    useful_alone: Annotated[EvidenceWeights, choice("the same where only words were searched")] = EvidenceWeights(
        bias=-4.49,
        coverage=5.7,
    )

    def encoder(self, model: str) -> EncoderEvidence | None:
        """What is known of an encoder's cosine, by its id."""
        named = [name for name in self.encoders if name != ANY_ENCODER and model.startswith(name)]
        return self.encoders[max(named, key=len)] if named else self.encoders.get(ANY_ENCODER)
