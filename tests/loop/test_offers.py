"""What a trace teaches: claims to offer, by its steps and its ending."""

import msgspec
import pytest

from scalepan.loop import claims_from_trace
from scalepan.loop.ending import Ending, trace_of
from scalepan.redact import Redactor
from scalepan.samples import sample_trace
from scalepan.trace import ReasoningTrace, Step, Tool


def trace(ending: Ending, *steps: tuple[str, str]) -> ReasoningTrace:
    made = [
        Step(step_id=at, type="tool_call", tool=Tool(name=kind), output_summary=text)
        if kind not in ("thought", "observation", "error_recovery")
        else Step(step_id=at, type=kind, content=text)  # type: ignore[arg-type]
        for at, (kind, text) in enumerate(steps)
    ]
    return trace_of("kp:trace:1", "Cancel it", made, ending, "all went", domain="x", confidence=0.9, actor="Aoi")


FAILED, HELPED = ("live", "failed: not there"), ("error_recovery", "the archive\nhas it")


@pytest.mark.parametrize(
    ("ending", "steps", "refusals", "expected"),
    [
        ("succeeded", [("thought", "hm")], [], [("task", "Cancel it: all went")]),
        ("failed", [("thought", "hm")], [], [("task", "Cancel it: failed: all went")]),
        ("unknown", [FAILED, HELPED], ["x"], []),
        (
            "succeeded",
            [FAILED, ("archive", "order 17"), HELPED],  # said after it helped
            [],
            [("fact", "live failed (not there); what helped: the archive has it (task: Cancel it)")],
        ),
        (
            "failed",
            [FAILED, HELPED, ("archive", "order 17")],  # said before
            ["refund it: too late"],
            [
                ("fact", "live failed (not there); what helped: the archive has it (task: Cancel it)"),
                ("policy_hint", "A person refused to refund it: too late (task: Cancel it)"),
                ("task", "Cancel it: failed: all went"),
            ],
        ),
        (
            "succeeded",
            [("live", "an empty page"), HELPED],  # another tool's log: nobody says that it failed
            [],
            [("fact", "live failed (an empty page); what helped: the archive has it (task: Cancel it)")],
        ),
        ("succeeded", [HELPED, HELPED], [], [("fact", "what helped: the archive has it (task: Cancel it)")]),
    ],
)
def test_what_is_offered(
    ending: Ending, steps: list[tuple[str, str]], refusals: list[str], expected: list[tuple[str, str]]
) -> None:
    claims = claims_from_trace(trace(ending, *steps), refusals)
    assert [(claim.kind, claim.text) for claim in claims] == expected


def test_an_offer_is_redacted_and_says_where_it_comes_from() -> None:
    leaky = trace("succeeded", ("error_recovery", "asked ann@example.com"))
    (claim,) = claims_from_trace(leaky, confidence=0.7, note="see ann@example.com", redactor=Redactor())
    assert "[pii:email]" in claim.text
    assert (claim.confidence, claim.provenance.source, claim.provenance.actor) == (0.7, "kp:trace:1", "Aoi")
    assert claim.provenance.note == "see [pii:email]"
    assert claim.provenance.at == leaky.metadata.created_at


def test_long_texts_are_cut() -> None:
    sample = sample_trace()
    long = msgspec.structs.replace(sample, task=msgspec.structs.replace(sample.task, objective="word " * 10_000))
    assert all(len(claim.text) < 2000 for claim in claims_from_trace(long))
