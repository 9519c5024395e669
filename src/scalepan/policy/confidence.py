"""Constants of confidence: weights, penalties, thresholds, the gate (docs/contract/confidence.md)."""

from functools import cached_property
from hashlib import sha256
from typing import Annotated, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy._fields import Section, choice, count, number, share
from scalepan.policy.gate import GatePolicy
from scalepan.policy.stand_ins import StandIns

Aggregation = Literal["mean", "min", "weighted"]


class SearchQuality(Section, frozen=True, kw_only=True):
    """The quality of search results by themselves."""

    good_max: Annotated[float, share("from this value on, the best result alone is the quality")] = 0.6
    max_weight: Annotated[float, share("below good_max: weight of the best result")] = 0.7
    avg_weight: Annotated[float, share("below good_max: weight of the average")] = 0.3
    variance_factor: Annotated[float, number("how much a unit of variance subtracts", "points", ge=0)] = 0.3
    variance_limit: Annotated[float, share("the most that variance subtracts")] = 0.15


class Weights(Section, frozen=True, kw_only=True):
    """How much each factor counts on a step that is not a search; only those that apply are averaged."""

    search_quality: Annotated[float, number("weight of search quality, if above 0", "weight", ge=0)] = 0.6
    tool_success: Annotated[float, number("weight of tool success; always counts", "weight", gt=0)] = 0.4
    source_agreement: Annotated[float, number("weight of agreement, with more than one source", "weight", ge=0)] = 0.2
    llm_self_eval: Annotated[
        float, number("weight of the self-evaluation, above applies.llm_self_eval", "weight", ge=0)
    ] = 0.3
    query_coverage: Annotated[float, number("weight of the coverage, above applies.query_coverage", "weight", ge=0)] = (
        0.1
    )


class Applies(Section, frozen=True, kw_only=True):
    """Above which value a factor counts."""

    llm_self_eval: Annotated[float, share("a self-evaluation at or below this is left out")] = 0.6
    query_coverage: Annotated[float, share("a coverage at or below this is left out")] = 0.1


class Penalties(Section, frozen=True, kw_only=True):
    """Factors that the score is then multiplied by."""

    no_search_results: Annotated[float, share("factor for a search step that found nothing")] = 0.5
    tool_failures_floor: Annotated[float, share("factor when every tool failed")] = 0.8
    tool_failures_span: Annotated[float, share("added to that factor, times the rate of tools that did not fail")] = 0.2
    no_sources: Annotated[float, share("factor for an answer without sources")] = 0.7
    sources_waived: Annotated[float, share("from this self-evaluation on, no_sources is waived")] = 0.8


class Thresholds(Section, frozen=True, kw_only=True):
    """From which score on the agent goes on silently, notifies, or asks; below all of them a person must step in."""

    silent: Annotated[float, share("go on silently from this score on")] = 0.9
    notify: Annotated[float, share("go on and notify from this score on")] = 0.7
    confirm: Annotated[float, share("ask first from this score on; below it, hand over to a person")] = 0.4

    def __post_init__(self) -> None:
        if not self.silent >= self.notify >= self.confirm:
            raise ValueError(
                f"silent {self.silent:g}, notify {self.notify:g}, confirm {self.confirm:g}: they must not increase"
            )


class FittedOn(Section, frozen=True, kw_only=True):
    """What the thresholds were fitted on; written by 'scalepan fit confidence --write'."""

    labels: Annotated[int, count("how many labels there were", "labels", 1)]
    date: Annotated[str, choice("when it was fitted, as 2026-11-18")]
    digest: Annotated[str, choice("the SHA-256 of the labels")]
    max_error: Annotated[float, share("how often SILENT is wrong at most")]
    sure: Annotated[float, share("how sure that is")]
    thresholds: Thresholds
    formula: Annotated[str, choice("a hash of the constants that the confidence was computed with")]


class CalibrationNote(msgspec.Struct, frozen=True):
    """Whether the thresholds in force keep a promise, and which."""

    calibrated: bool
    note: str


FORMULA = ("search_quality", "weights", "applies", "penalties", "places")
"""The keys that a confidence follows from; where they change, a fit no longer holds."""


class Confidence(Section, frozen=True, kw_only=True):
    """How sure may the agent be, and must a person step in?"""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    search_quality: SearchQuality = SearchQuality()
    weights: Weights = Weights()
    applies: Applies = Applies()
    penalties: Penalties = Penalties()
    thresholds: Thresholds = Thresholds()
    aggregation: Annotated[Aggregation, in_order(Aggregation), choice("how steps become one number")] = "weighted"
    places: Annotated[int, count("decimal places that a score is rounded to", "places")] = 3
    failed_self_eval: Annotated[float, share("used in place of a self-evaluation that failed")] = 0.5
    gate: GatePolicy = GatePolicy()
    stand_ins: StandIns = StandIns()
    fitted: Annotated[FittedOn, choice("what the thresholds were fitted on; null: they were chosen by hand")] | None = (
        None
    )

    @cached_property
    def formula_hash(self) -> str:
        """A hash of the constants that the number follows from; thresholds and gate are not among them."""
        content = msgspec.to_builtins({name: getattr(self, name) for name in FORMULA})
        return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]

    @cached_property
    def calibration(self) -> CalibrationNote:
        """Whether the thresholds in force are those of a fit, and the number is still the one that was fitted.

        >>> Confidence().calibration.note
        'not calibrated'
        """
        fitted = self.fitted
        if fitted is None:
            return CalibrationNote(False, "not calibrated")
        for what, same in (
            ("the thresholds were", fitted.thresholds == self.thresholds),
            ("the formula was", fitted.formula == self.formula_hash),
        ):
            if not same:
                return CalibrationNote(False, f"not calibrated: {what} changed since the fit of {fitted.date}")
        promised = f"SILENT at most {fitted.max_error * 100:.4g} % wrong, {fitted.sure * 100:.4g} % sure"
        return CalibrationNote(True, f"calibrated on {fitted.labels:,} labels, {fitted.date}: {promised}")
