"""What a run says about its agents: hand-written logs in, the overview out."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.redact import Redactor
from scalepan.score import Part, Rule, Score
from scalepan.trace.overview.headline import headline
from scalepan.trace.overview.made import overview_of, shown_traces
from scalepan.trace.overview.model import GroupFigures, Overview
from scalepan.trace.overview.reasons import why_high, why_low
from scalepan.trace.readers import BadRow
from scalepan.trace.summary import Summary
from tests.trace.overview.logs import call, logged, result, summed, thought
from tests.trace.traces import trace

WORKED = [thought(), call("Read", "1"), result("1", failed=False)]
FAILED = [call("Bash", "1"), result("1", failed=True), call("Bash", "2", again=True), result("2", failed=False)]
TOKENS: dict[str, Any] = {"input_tokens": 900, "output_tokens": 9}
REFUSED = [call("Bash", "1"), result("1", refused=True), thought()]


def overview(summary: Summary) -> Overview:
    return overview_of(summary, Redactor())


def table(rows: Sequence[GroupFigures]) -> list[tuple[str, int, int, float | None]]:
    """Name, traces, calls, failed share of each row."""
    return [(row.name, row.traces, row.calls, row.failed_share) for row in rows]


@pytest.fixture
def week_of_work() -> Overview:
    """Two projects, two weeks, one sub-agent, one native trace."""
    return overview(
        summed(
            logged(
                WORKED, id="kp:trace:1", project="/w/shop", session="a", model="m1", input_tokens=900, output_tokens=9
            ),
            logged(FAILED, id="kp:trace:2", project="/w/shop", session="a", model="m1", parent="kp:trace:1"),
            logged(REFUSED, id="kp:trace:3", project="/w/docs", session="b", model="m2", at="2026-02-04T00:00:00Z"),
            trace(id="kp:trace:4", domain="finance"),
        )
    )


def test_what_was_read(week_of_work: Overview) -> None:
    assert headline(week_of_work) == [
        "4 traces (1 by sub-agents), 2 sessions, 2026-01-31 to 2026-02-04",
        # C, N, D, O of the four are worked out in test_spec_value; here they only have to be counted
        f"median value {week_of_work.total.median:.2f}; 0 to share, 4 to keep (gate 0.75); 1 of 1 succeeded",
        "5 calls, 33 % failed, 1 recovery, 1 refused, 900 tokens in, 9 out",
    ]


def test_groups(week_of_work: Overview) -> None:
    groups = week_of_work.groups
    assert table(groups["project"]) == [
        ("/w/shop", 2, 3, pytest.approx(1 / 3)),
        ("/w/docs", 1, 1, None),  # a refused call neither failed nor worked
        ("not stated", 1, 1, None),
    ]
    assert table(groups["week"]) == [("2026-01-26", 3, 4, pytest.approx(1 / 3)), ("2026-02-02", 1, 1, None)]
    assert [row.name for row in groups["model"]] == ["m1", "m2", "not stated"]
    assert [(row.name, row.traces) for row in groups["agent"]] == [("agent", 3), ("sub-agent", 1)]
    assert [(row.name, row.traces) for row in groups["format"]] == [("claude-code", 3), ("native", 1)]
    assert [(row.name, row.traces) for row in groups["domain"]] == [("code", 3), ("finance", 1)]
    shop = groups["project"][0]
    assert (shop.with_tokens, shop.input_tokens, shop.output_tokens, shop.recovered_share) == (1, 900, 9, 1.0)


def test_a_table_of_one_row_says_nothing() -> None:
    assert overview(summed(logged(), logged(id="kp:trace:2"))).groups == {}


def test_tools(week_of_work: Overview) -> None:
    assert [(tool.name, tool.calls, tool.failed_share, tool.refused) for tool in week_of_work.tools] == [
        ("Bash", 3, 0.5, 1),
        ("Read", 1, 0.0, 0),
        ("search", 1, None, 0),
    ]


def test_what_is_not_measured_is_said_in_words(week_of_work: Overview) -> None:
    low, high = week_of_work.range or (0.0, 0.0)
    assert week_of_work.not_measured == [
        "The outcome: confidence and success not stated in 3 claude-code traces. The value takes the middle of what is "
        f"possible. On average it could be anything from {low:.2f} to {high:.2f}.",
        "Novelty and near-duplicates: no encoder is in use, so novelty counts 0.5 for every trace. 'scalepan doctor' "
        "shows how to add one.",
        "Whether calls failed: not stated in native traces (1 call).",
    ]
    assert low < high


def test_what_is_stated_is_not_called_open() -> None:
    stated = overview(summed(logged(WORKED, success=True, confidence=0.9), encoder=Same()))
    assert stated.range is None
    assert stated.not_measured == []
    half = overview(summed(logged(WORKED, success=True)))
    assert half.not_measured[0].startswith("The outcome: confidence not stated in 1 claude-code trace.")


class Same:
    """Two texts are the same if their first words are; other texts have nothing in common."""

    WORDS = ("Fix", "Rename", "Explain")

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.split()[0] == word) for word in self.WORDS] for text in texts]


def test_near_duplicates_are_grouped_with_an_encoder() -> None:
    names = ["Fix it", "Rename it", "Fix that", "Fix all", "Explain it", "Rename all"]
    traces = [logged(WORKED, id=f"kp:trace:{at}", objective=name) for at, name in enumerate(names)]
    near = overview(summed(*traces, encoder=Same())).near_repeats
    assert near is not None
    assert (near.traces, near.groups) == (3, 2)
    assert [(group.traces, group.objective, group.where) for group in near.largest] == [
        (3, "Fix that", "log.jsonl:3"),
        (2, "Rename all", "log.jsonl:6"),
    ]
    assert overview(summed(*traces)).near_repeats is None


def test_exact_repeats_need_no_encoder() -> None:
    again = [
        logged(WORKED, id="kp:trace:1", objective="Ship it"),
        logged(WORKED, id="kp:trace:2", objective="Ship it"),
        logged(FAILED, id="kp:trace:3", objective="Ship it"),  # other tools
        logged(WORKED, id="kp:trace:4", objective="Ship that"),
        logged(WORKED, id="kp:trace:5", objective="Ship it"),
        logged([thought()], id="kp:trace:6", objective=""),  # nothing to tell them apart by
        logged([thought()], id="kp:trace:7", objective=""),
    ]
    exact = overview(summed(*again)).exact_repeats
    assert (exact.traces, exact.groups) == (2, 1)
    assert [(group.traces, group.objective, group.where) for group in exact.largest] == [(3, "Ship it", "log.jsonl:2")]


def test_rejects_are_grouped_by_reason_with_one_place() -> None:
    summary = Summary()
    for line, confidence in enumerate((1.7, 2, -1), 14):
        error = InputError(f"{confidence} is not between 0 and 1", file="a.jsonl", line=line, path="outcome.confidence")
        summary.add(BadRow(line, error))
    summary.add(BadRow(3, InputError("is not JSON: truncated", file="b.jsonl", line=3)))
    rejects = overview(summary).rejects
    assert [(row.count, row.reason, row.where) for row in rejects] == [
        (3, "outcome.confidence: 1.7 is not between 0 and 1", "a.jsonl:14"),
        (1, "is not JSON: truncated", "b.jsonl:3"),
    ]


def parts(c: float, n: float, d: float, o: float) -> tuple[Part, ...]:
    return (
        Part("complexity", c, 0.25, note="4 step types"),
        Part("novelty", n, 0.25, "default", "no encoder"),
        Part("tool_diversity", d, 0.25, note="1 tool, 9 steps"),
        Part("outcome_confidence", o, 0.25, note="0.9 sure, succeeded"),
    )


@pytest.mark.parametrize(
    ("score", "high", "low"),
    [
        (
            Score("value", 0.6, parts=parts(1, 0.5, 0, 0.9), base=0.6),
            "rich in structure (4 step types); sure of a good outcome (0.9 sure, succeeded)",
            "low tool diversity (1 tool, 9 steps)",
        ),
        (
            Score("value", 0.4, parts=parts(0.5, 0.5, 0.5, 0.5), base=0.5,
                  rules=(Rule("zero_diversity_penalty", 0.5, 0.4, "1 tool in 9 steps"),)),
            "no part of it stands out",
            "1 tool in 9 steps (-0.10)",
        ),
        (
            Score("value", 0.1, parts=parts(0.1, 0.5, 0, 1), base=0.4,
                  rules=(Rule("single_step_penalty", 0.4, 0.1, "one thought and nothing else"),)),
            "sure of a good outcome (0.9 sure, succeeded)",
            "one thought and nothing else (-0.30)",
        ),
    ],
)  # fmt: skip
def test_reasons_in_words(score: Score, high: str, low: str) -> None:
    assert (why_high(score), why_low(score)) == (high, low)


def test_the_best_and_the_worst_are_not_the_same_traces() -> None:
    traces = [trace(id=f"kp:trace:{at}", confidence=at / 10, objective=f"task {at}") for at in range(4)]
    both = overview(summed(*traces))
    assert [row.id for row in both.best] == ["kp:trace:3", "kp:trace:2", "kp:trace:1"]
    assert [row.id for row in both.worst] == ["kp:trace:0"]
    again = [trace(id=f"kp:trace:{at}", confidence=at / 10) for at in range(4)]  # one request, four times
    assert [row.id for row in overview(summed(*again)).best] == ["kp:trace:3"]


def test_what_stands_out() -> None:
    # 20 traces of Read that work, 10 of Bash that fail once each: 10 of 40 failed, Bash in 10 of 20
    works = [logged(WORKED, id=f"kp:trace:r{at}", objective=f"read {at}") for at in range(20)]
    fails = [logged(FAILED, id=f"kp:trace:b{at}", objective="try") for at in range(10)]
    assert overview(summed(*works, *fails)).stands_out == [
        "10 calls of 40 failed (25 %); Bash most often (50 %).",
        "9 traces repeat an earlier one, with the same request and the same tools in the same order; "
        "one came 10 times.",
    ]
    refused = [logged(REFUSED, id=f"kp:trace:{at}", objective=str(at)) for at in range(2)]
    assert overview(summed(*refused)).stands_out == ["People refused or interrupted 2 calls, all of them of Bash."]
    assert overview(summed(logged())).stands_out == []


SECRET, MAIL = "ghp_" + "R7wq9LzT2" * 4, "hanako@" + "example.com"
EVIL = f"<script>x</script>\x1b[2J\u202e {SECRET} {MAIL}"
EVERYWHERE: dict[str, Any] = dict.fromkeys(("format", "project", "session", "parent", "model"), EVIL)


def test_every_text_is_redacted_and_harmless() -> None:
    hostile = logged(
        [call(EVIL, "1"), result("1", failed=True), thought()],
        id=f"kp:trace:{EVIL}",
        objective=EVIL,
        domain=EVIL,
        **EVERYWHERE,
    )
    summary = summed(hostile, hostile, logged(), encoder=Same())
    summary.add(BadRow(1, InputError(EVIL, file=EVIL, path=EVIL, line=1)))
    said = overview(summary)
    text = msgspec.json.encode(said).decode()
    assert SECRET not in text
    assert MAIL not in text
    assert "[secret:github-token]" in text
    assert "\\u001b" not in text
    assert "\u202e" not in text
    assert said.groups["project"][0].name.startswith("<script>x</script>")  # text, which a page shows as text


def test_half_a_secret_is_not_shown_where_a_long_text_was_cut() -> None:
    # a key of 3,900 characters, for which a placeholder stands, then a token across the edge at 4,000
    lines = "".join(f"{'MIIEpAIBAAKCAQEA7bq9Xz3Lk' * 2}{line:014}\n" for line in range(60))
    key = "-----BEGIN " + f"PRIVATE KEY-----\n{lines[:3800]}\n-----END " + "PRIVATE KEY-----\n"
    long = key + "z" * (3984 - len(key)) + " " + SECRET
    assert long[:4000].endswith(SECRET[:15])
    said = overview(summed(logged(objective=long)))
    assert SECRET[:12] not in msgspec.json.encode(said).decode()
    (row,) = shown_traces(summed(logged(objective=long)), Redactor())
    assert row.objective == "…"


def test_json_has_every_figure() -> None:
    data = msgspec.to_builtins(overview(summed(logged(WORKED), logged(FAILED, id="kp:trace:2"))))
    assert (data["traces"], data["total"]["calls"], data["tools"][0]["recovered"]) == (2, 3, 1)
    assert sum(data["histogram"]) == 2
