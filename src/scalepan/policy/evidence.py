"""Constants of recall by evidence: what each observation of a claim is worth, in the profiles `default` and `best`.

`python -m bench.fit_recall` fits and prints these numbers, from scifact (CC BY 4.0, ODC-By), stackfaq (CC BY-SA) and
jaquad_sentences (CC BY-SA 3.0), each set with the same weight. What none of these shows, who speaks and when, was set
by hand and never fitted. docs/benchmarks.md has what they give on data that they were not fitted on.
"""

from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice, count, number

Reads = Literal["any", "latin"]
MINILM = "all-MiniLM-L6-v2"
ANY_ENCODER = "any"


def _worth(what: str) -> msgspec.Meta:
    return number(what, "log-odds", ge=0)


class Weights(Section, frozen=True, kw_only=True):
    """A probability: 1 / (1 + exp(-(bias + the sum of weight x observation))). A weight of 0: it does not count."""

    bias: Annotated[float, number("the log-odds without any evidence", "log-odds")]
    coverage: Annotated[float, _worth("share of the query's terms that the claim has, weighted by rarity")] = 0.0
    rarest: Annotated[float, _worth("rarity of the rarest shared term, over that of the query's rarest")] = 0.0
    text_z: Annotated[float, _worth("log(1 + z), z: how far its BM25 stands out among all readable claims")] = 0.0
    of_best: Annotated[float, _worth("its BM25 over that of the best claim")] = 0.0
    cosine: Annotated[float, _worth("cosine with the query; comparable for one encoder only")] = 0.0
    cosine_z: Annotated[float, _worth("how far its cosine stands out among all readable claims")] = 0.0
    below_best: Annotated[float, _worth("its cosine minus that of the best claim: 0 or negative")] = 0.0


TEXT = ("coverage", "rarest", "text_z", "of_best")
VECTOR = ("cosine", "cosine_z", "below_best")


class Usual(Section, frozen=True, kw_only=True):
    """How unrelated claims score. It counts as some claims beside those that are there: few say little alone."""

    mean: Annotated[float, number("mean score of claims that are not relevant", "points")]
    deviation: Annotated[float, number("its standard deviation", "points", ge=0)]
    claims: Annotated[int, count("how many claims this counts as", "claims")] = 30

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
    """What the cosine of one encoder is worth."""

    reads: Annotated[
        Reads,
        in_order(Reads),
        choice("scripts that it can read; a query mostly in others is recalled by words alone"),
    ] = "any"
    usual: Usual
    weights: Weights


class Useful(Section, frozen=True, kw_only=True):
    """p_useful: how likely a claim is to help, by the log-odds of its sides."""

    bias: Annotated[float, number("the log-odds without any evidence", "log-odds")]
    stronger: Annotated[float, number("of the side that says more for it", "times", ge=0)]
    weaker: Annotated[float, number("of the other side", "times", ge=0)] = 0.0


class Evidence(Section, frozen=True, kw_only=True):
    """The curves that ship. Those of `scalepan memory calibrate` replace `text` and `encoders`."""

    pool: Annotated[
        int, count("candidates of each side, whatever the call asks for; all are scored on both sides", "claims", 1)
    ] = 1024
    words: Annotated[Usual, choice("BM25 over the most that the query could reach")] = Usual(mean=0.02, deviation=0.04)
    text: Weights = Weights(bias=-13.25, coverage=3.25, rarest=2.5, text_z=2.29, of_best=4.42)
    encoders: Annotated[
        dict[str, EncoderEvidence],
        choice("by the beginning of the encoder's id; 'any' is for all others, whose cosine nobody has measured"),
    ] = msgspec.field(
        default_factory=lambda: {
            MINILM: EncoderEvidence(
                reads="latin",
                usual=Usual(mean=0.1, deviation=0.1),
                weights=Weights(bias=-12.8, cosine=6.52, cosine_z=1.5, below_best=2.89),
            ),
            ANY_ENCODER: EncoderEvidence(
                usual=Usual(mean=0.0, deviation=0.0, claims=0),
                weights=Weights(bias=-11.4, cosine_z=1.88, below_best=4.23),
            ),
        }
    )
    useful: Useful = Useful(bias=1.01, stronger=0.55, weaker=0.15)
    useful_alone: Annotated[Useful, choice("the same where only one side was searched")] = Useful(
        bias=0.5, stronger=0.8
    )

    def encoder(self, model: str) -> EncoderEvidence | None:
        """What is known of an encoder's cosine, by its id."""
        named = [name for name in self.encoders if name != ANY_ENCODER and model.startswith(name)]
        return self.encoders[max(named, key=len)] if named else self.encoders.get(ANY_ENCODER)
