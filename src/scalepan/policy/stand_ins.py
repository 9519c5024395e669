"""Constants of the stand-ins that are used without a language model: coverage of the query, support by the sources."""

from typing import Annotated

from scalepan.policy._fields import Section, choice, count, number, share


class Coverage(Section, frozen=True, kw_only=True):
    """How much of the query the answer covers. A part that cannot be measured gives its weight to the rest."""

    words: Annotated[float, share("how much the query's content words count")] = 0.5
    names: Annotated[float, share("how much its names, numbers and dates count")] = 0.2
    meaning: Annotated[float, share("how much similarity by the encoder counts")] = 0.3

    def __post_init__(self) -> None:
        if self.words <= 0:
            raise ValueError("words must count for something: they are all there is without an encoder")


class Support(Section, frozen=True, kw_only=True):
    """How well the sources support each sentence of an answer."""

    enabled: Annotated[bool, choice("whether support is measured if there is no language model")] = True
    worst: Annotated[float, share("how much the worst sentence counts against the mean of all")] = 0.5
    full_match: Annotated[
        float,
        number(
            "from this match on, a sentence gets the full grade: summaries use their own words", "share", gt=0, le=1
        ),
    ] = 0.3
    supported: Annotated[float, share("a sentence is supported from this match on, if nothing disagrees")] = 0.5
    related: Annotated[float, share("the sources can contradict a sentence only from this match on")] = 0.3
    contradicted: Annotated[float, share("factor on a sentence's grade for each contradiction")] = 0.2
    unfound: Annotated[float, share("factor on it for each number, date or name that no source has")] = 0.7
    numbers: Annotated[bool, choice("whether numbers are compared")] = True
    dates: Annotated[bool, choice("whether dates are compared")] = True
    names: Annotated[bool, choice("whether names are compared")] = True
    negation: Annotated[bool, choice("whether negation is compared")] = True
    antonyms: Annotated[bool, choice("whether opposites are compared")] = True


class StandIns(Section, frozen=True, kw_only=True):
    """Deterministic stand-ins for what a language model would judge."""

    coverage: Coverage = Coverage()
    support: Support = Support()
    cosine_none: Annotated[float, share("texts at most this similar are unrelated")] = 0.3
    cosine_full: Annotated[float, share("texts at least this similar say the same")] = 0.8
    max_embedded: Annotated[
        int, count("beyond this many sentences in one call, only words are compared", "sentences")
    ] = 5000

    def __post_init__(self) -> None:
        if self.cosine_none >= self.cosine_full:
            raise ValueError(f"cosine_none {self.cosine_none:g} is not below cosine_full {self.cosine_full:g}")
