"""Constants of confidence: weights, penalties, thresholds, the gate (docs/contract/confidence.md)."""

from typing import Annotated, Literal

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice, count, number, share
from scalepan.policy.gate import Gate
from scalepan.policy.stand_ins import StandIns

Aggregation = Literal["mean", "min", "weighted"]


class SearchQuality(Section, frozen=True, kw_only=True):
    """What search results alone are worth."""

    good_max: Annotated[float, share("from here on the best result counts as it is")] = 0.6
    max_weight: Annotated[float, share("below that: how much the best result counts")] = 0.7
    avg_weight: Annotated[float, share("and how much the average does")] = 0.3
    variance_factor: Annotated[float, number("what a unit of variance costs", "points", ge=0)] = 0.3
    variance_limit: Annotated[float, share("but no more than this")] = 0.15


class Weights(Section, frozen=True, kw_only=True):
    """How much each factor counts on a step that is no search; only those that apply are averaged."""

    search_quality: Annotated[float, number("if there is any", "weight", ge=0)] = 0.6
    tool_success: Annotated[float, number("always", "weight", gt=0)] = 0.4
    source_agreement: Annotated[float, number("with more than one source", "weight", ge=0)] = 0.2
    llm_self_eval: Annotated[float, number("above applies.llm_self_eval", "weight", ge=0)] = 0.3
    query_coverage: Annotated[float, number("above applies.query_coverage", "weight", ge=0)] = 0.1


class Applies(Section, frozen=True, kw_only=True):
    """Above which value a factor is taken to say something."""

    llm_self_eval: Annotated[float, share("a self-evaluation at or below this is left out")] = 0.6
    query_coverage: Annotated[float, share("a coverage at or below this is left out")] = 0.1


class Penalties(Section, frozen=True, kw_only=True):
    """What is taken off afterwards, each by a factor."""

    no_search_results: Annotated[float, share("a search step that found nothing")] = 0.5
    tool_failures_floor: Annotated[float, share("what is left when every tool failed")] = 0.8
    tool_failures_span: Annotated[float, share("and what comes back with the rate of those that did not")] = 0.2
    no_sources: Annotated[float, share("an answer without sources")] = 0.7
    sources_waived: Annotated[float, share("a self-evaluation from here on does without sources")] = 0.8


class Thresholds(Section, frozen=True, kw_only=True):
    """From which score on the agent goes on silently, tells, or asks; below all of them a person must step in."""

    silent: Annotated[float, share("go on, say nothing")] = 0.9
    notify: Annotated[float, share("go on, and tell")] = 0.7
    confirm: Annotated[float, share("ask first")] = 0.4

    def __post_init__(self) -> None:
        if not self.silent >= self.notify >= self.confirm:
            raise ValueError(
                f"silent {self.silent:g}, notify {self.notify:g}, confirm {self.confirm:g}: they must not rise"
            )


class Confidence(Section, frozen=True, kw_only=True):
    """How sure may the agent be, and must a person step in?"""

    version: Annotated[str, choice("your label for this section; stands before its hash")] = ""
    search_quality: SearchQuality = SearchQuality()
    weights: Weights = Weights()
    applies: Applies = Applies()
    penalties: Penalties = Penalties()
    thresholds: Thresholds = Thresholds()
    aggregation: Annotated[Aggregation, in_order(Aggregation), choice("how steps become one number")] = "weighted"
    places: Annotated[int, count("decimal places that a score is rounded to", "places")] = 3
    failed_self_eval: Annotated[float, share("stands in for a self-evaluation that failed")] = 0.5
    gate: Gate = Gate()
    stand_ins: StandIns = StandIns()
