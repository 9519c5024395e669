"""Constants of recall: how candidates are found, fused, reranked and spread out (docs/contract/memory.md)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice, count, number, share
from scalepan.policy.evidence import RecallEvidence

TextLevel = Literal["index", "L2", "L0"]
VectorLevel = Literal["index", "L3", "L1"]
Tie = Literal["one", "zero"]
MissingSide = Literal["zero", "as_is"]
Method = Literal["quantile", "isotonic", "platt"]
Morphology = Literal["auto", "on", "off"]
Profile = Literal["spec", "default", "best"]

# Letters of any script, digits, _ and -, and a letter first. Spelled out, because \w is ASCII only in the JSON Schema
# that clients check; the end is spelled out because Python's $ also matches before a line break.
_NOT_IN_WORDS = r"\x00-,./:-@\[-^`{-\xbf\u2000-\u206f\u3000-\u3004\u3008-\u3020\ud800-\uf8ff\ufe00-\uff0f"
_KIND = f"^[^{_NOT_IN_WORDS}0-9_-][^{_NOT_IN_WORDS}]*(?![\\s\\S])"
Kind = Annotated[
    str,
    msgspec.Meta(
        pattern=_KIND,
        min_length=1,
        max_length=64,
        extra={"legal": "one word: letters, digits, _ and -, a letter first"},
    ),
]
"""The kind of a claim: one word. Four have half-lives of their own (contract memory.33); any word is legal."""
HALF_LIVES: dict[str, float | None] = {"fact": 120.0, "task": 14.0, "preference": 90.0, "policy_hint": 365.0}
"""Days, by kind of claim."""


class Hybrid(Section, frozen=True, kw_only=True):
    """How many candidates each side finds, and how the two sides are fused."""

    alpha: Annotated[float, share("weight of the vector side; the text side has the rest; 0.3 to 0.9 is sensible")] = (
        0.65
    )
    k_txt: Annotated[
        int, count("candidates of the text side; scales with the number that a call asks for", "claims", 1)
    ] = 48
    k_vec: Annotated[int, count("candidates of the vector side; scales in the same way", "claims", 1)] = 96
    k_final: Annotated[int, count("claims returned if the call names no number", "claims", 1)] = 12
    recency_half_life_days: Annotated[
        float,
        number(
            "half-life of kinds that have none of their own; a layer that sets it overrides lower layers' kinds",
            "days",
            gt=0,
        ),
    ] = 30.0


class Dynamic(Section, frozen=True, kw_only=True):
    """Parameters chosen by the query. An alpha in the call wins over all of it."""

    alpha: Annotated[bool, choice("choose alpha by the query; false: always hybrid.alpha")] = True
    lexical_terms: Annotated[int, count("a query of at most this many words is a keyword query", "words")] = 2
    lexical_alpha: Annotated[
        float, share("alpha of a keyword query, and of one with a piece of code, a quote or a URL")
    ] = 0.4
    semantic_terms: Annotated[int, count("a query of at least this many words is natural language", "words", 1)] = 12
    semantic_alpha: Annotated[float, share("alpha of a natural-language query")] = 0.75
    expand: Annotated[bool, choice("search a side with under k_final / 2 hits once more, with twice its k")] = True


class Curve(Section, frozen=True, kw_only=True):
    """A fitted mapping of a raw score to 0..1: points to interpolate between, or for platt the pair a, b."""

    method: Annotated[Method, in_order(Method), choice("how it was fitted")]
    x: Annotated[list[float], choice("raw scores, rising; for platt: a and b of 1 / (1 + exp(a s + b))")]
    y: Annotated[
        list[Annotated[float, share("what the raw score becomes")]], choice("what they become; none for platt")
    ]

    def __post_init__(self) -> None:
        if self.method == "platt":
            if len(self.x) != 2 or self.y:
                raise ValueError("platt has two numbers in x, and none in y")
            if self.x[0] > 0:
                raise ValueError("the first number of platt must not be above 0: a higher score would count less")
        elif not self.x or len(self.x) != len(self.y):
            raise ValueError(f"x and y must be equally long and not empty, not {len(self.x)} and {len(self.y)}")
        elif any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ValueError("x must rise")
        elif any(b < a for a, b in zip(self.y, self.y[1:], strict=False)):
            raise ValueError("y must not fall")


class Calibration(Section, frozen=True, kw_only=True):
    """Raw scores to 0..1 as fitted by `scalepan memory calibrate`. Without it, min-max and (cos + 1) / 2 are used."""

    use: Annotated[bool, choice("whether fitted curves are used")] = True
    text: Annotated[Curve, choice("for BM25 of the index")] | None = None
    vector: Annotated[Curve, choice("for cosine similarity")] | None = None
    model: Annotated[str, choice("the encoder that `vector` was fitted with; with another it is not used")] = ""
    terms: Annotated[str, choice("the term rules that `text` was fitted with; with others it is not used")] = ""


class Normalize(Section, frozen=True, kw_only=True):
    """Raw scores to 0..1 (contract memory.14 to memory.19), and the score of a side that did not find a claim."""

    minmax_tie: Annotated[
        Tie, in_order(Tie), choice("what equal BM25 scores become: one, or zero as in the bare formula")
    ] = "one"
    missing_side: Annotated[
        MissingSide,
        in_order(MissingSide),
        choice("a claim that only one side found: zero on the other, or that side's score alone"),
    ] = "zero"
    epsilon: Annotated[float, number("floor of denominators", "points", gt=0)] = 1e-6


class Factor(Section, frozen=True, kw_only=True):
    """One factor of g: floor + span x what was measured."""

    floor: Annotated[float, share("the factor at 0")]
    span: Annotated[float, share("what is added to it at 1")]

    def __post_init__(self) -> None:
        if self.floor + self.span > 1 + 1e-9:
            raise ValueError(f"floor and span add up to {self.floor + self.span:g}: more than 1")

    def scale(self, measured: float) -> float:
        """The factor, with the measured value clipped to 0..1."""
        return self.floor + self.span * min(max(measured, 0.0), 1.0)


class Rerank(Section, frozen=True, kw_only=True):
    """The coefficient g (contract memory.28)."""

    use_quality: Annotated[bool, choice("whether a claim's quality scales its score too")] = False
    utility: Factor = Factor(floor=0.6, span=0.4)
    confidence: Factor = Factor(floor=0.5, span=0.5)
    recency: Factor = Factor(floor=0.3, span=0.7)
    quality: Factor = Factor(floor=0.5, span=0.5)
    half_life_days: Annotated[
        dict[str, Annotated[float, number("half-life of this kind", "days", gt=0)] | None],
        choice("half-lives by kind of claim; a kind that is null or missing uses hybrid.recency_half_life_days"),
    ] = msgspec.field(default_factory=HALF_LIVES.copy)


class Diversity(Section, frozen=True, kw_only=True):
    """Keeps an active context from repeating itself (contract memory.44 to memory.48)."""

    search: Annotated[bool, choice("whether MMR and the entity cap shape a search too; a call may say otherwise")] = (
        False
    )
    mmr_lambda: Annotated[float, share("1: by score alone; lower: prefer claims unlike those already chosen")] = 0.85
    entity_cap: Annotated[int, count("claims about one entity; 0: no cap", "claims")] = 2
    unique_content: Annotated[bool, choice("one claim for each content hash, in a search too")] = True

    def by_score(self) -> "Diversity":
        """The same without MMR and cap: the best by score alone."""
        return msgspec.structs.replace(self, mmr_lambda=1.0, entity_cap=0)


class Text(Section, frozen=True, kw_only=True):
    """The text side."""

    level: Annotated[
        TextLevel, in_order(TextLevel), choice("where to start: the index, L2 (DuckDB FTS), L0 (ILIKE)")
    ] = "index"
    k1: Annotated[float, number("BM25: how slowly repeated words saturate", "times", ge=0)] = 1.2
    b: Annotated[float, share("BM25: how strongly long texts are penalized")] = 0.75


class VectorsPolicy(Section, frozen=True, kw_only=True):
    """The vector side."""

    level: Annotated[
        VectorLevel, in_order(VectorLevel), choice("where to start: the index, L3 (DuckDB VSS), L1 (SQL)")
    ] = "index"
    overfetch: Annotated[
        float, number("L3 is approximate: this many times k_vec are fetched and rescored exactly", "times", ge=1)
    ] = 2.0
    exact_claims: Annotated[
        int, count("up to this many readable claims, the index compares each with the query exactly", "claims", 0)
    ] = 50_000
    rescore: Annotated[
        int,
        count("with more, this many times k_vec are preselected by sign bits and then compared exactly", "times", 1),
    ] = 40


class Change(Section, frozen=True, kw_only=True):
    """What one vote adds to a claim."""

    utility: Annotated[float, number("added to utility", "points", ge=-1, le=1)] = 0.0
    confidence: Annotated[float, number("added to confidence", "points", ge=-1, le=1)] = 0.0


class Feedback(Section, frozen=True, kw_only=True):
    """What votes do, and how fast it fades (contract memory.38 to memory.42)."""

    helpful: Change = Change(utility=0.10, confidence=0.05)
    harmful: Change = Change(utility=-0.20, confidence=-0.10)
    outdated: Change = Change(confidence=-0.20)
    duplicate_utility: Annotated[float, share("factor on the utility of a claim that was merged")] = 0.5
    utility_half_life_days: Annotated[float, number("utility halves in", "days", gt=0)] = 30.0
    quality_half_life_days: Annotated[float, number("quality halves in", "days", gt=0)] = 120.0


class Retrieval(Section, frozen=True, kw_only=True):
    """What should the agent recall now?"""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    profile: Annotated[
        Profile,
        in_order(Profile),
        choice(
            "spec: the contract's formula and mappings; default: the same formula, its sides are probabilities; "
            "best: all evidence, of neighbors, source, speaker and dates too, in one score"
        ),
    ] = "default"
    evidence: RecallEvidence = RecallEvidence()
    hybrid: Hybrid = Hybrid()
    dynamic: Dynamic = Dynamic()
    calibration: Calibration = Calibration()
    normalize: Normalize = Normalize()
    rerank: Rerank = Rerank()
    diversity: Diversity = Diversity()
    text: Text = Text()
    vectors: VectorsPolicy = VectorsPolicy()
    feedback: Feedback = Feedback()
    threshold: Annotated[
        float, share("a claim enters an active context from this score_final on; other profiles: evidence.threshold")
    ] = 0.15
    context_hours: Annotated[float, number("an active context expires after", "hours", gt=0)] = 24.0
    morphology: Annotated[
        Morphology, in_order(Morphology), choice("Japanese morphology: auto uses it if the extra is installed")
    ] = "auto"
    timeout_ms: Annotated[float, number("how long one recall may take", "ms", gt=0)] = 10_000.0

    def half_life(self, kind: str) -> float:
        """Days until a claim of this kind counts half.

        >>> Retrieval().half_life("task"), Retrieval().half_life("rumor")
        (14.0, 30.0)
        """
        own = self.rerank.half_life_days.get(kind)
        return self.hybrid.recency_half_life_days if own is None else own


def yield_half_lives(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Before a layer is merged: one that sets the common half-life sets it for every kind.

    The lower layers' half-lives of single kinds are cleared; those of this layer are merged after this.

    >>> section = {"rerank": {"half_life_days": {"fact": 120.0, "task": 14.0}}}
    >>> yield_half_lives(section, {"hybrid": {"recency_half_life_days": 7}})
    >>> section
    {'rerank': {'half_life_days': {'fact': None, 'task': None}}}
    """
    match values, into:
        case {"hybrid": {"recency_half_life_days": _}}, {"rerank": {"half_life_days": dict() as kinds}}:
            kinds.update(dict.fromkeys(kinds))
