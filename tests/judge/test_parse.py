"""What is read from what a model wrote, and what is not."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.judge.parse import UnreadableError, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.8", 0.8),
        (" 0.8.\n", 0.8),
        (".8", 0.8),
        ("1", 1.0),
        ("0", 0.0),
        ("1e-1", 0.1),
        ("0,8", 0.8),
        ("**0.8**", 0.8),
        ("0.8/1.0", 0.8),
        ("80%", 0.8),
        ("80 percent", 0.8),
        ("8/10", 0.8),
        ("4 out of 5", 0.8),
        ("0.8 (80%)", 0.8),  # twice the same
        ("[0.8]", 0.8),
        ('{"score": 0.8}', 0.8),
        ('{"Score ": "80%"}', 0.8),
        ('{"rating": 0.8}', 0.8),
        ('{"evaluation": {"score": 0.8, "reasons": ["good"]}}', 0.8),
        ('```json\n{"score": 0.8}\n```', 0.8),
        ('Here you are:\n```\n{"score": 0.8}\n```\nIt has 2 faults.', 0.8),
        ('Sure: {"score": 0.8}. It has 2 faults.', 0.8),
        ("{'score': 0.8}", 0.8),
        ("The score is 0.8.", 0.8),
        ("Score: 1", 1.0),
        ("I would give it a solid 0.8, all in all.", 0.8),
        ("On a scale of 0.0 to 1.0 this is 0.8.", 0.8),
        ("Score (0-1): 0.8", 0.8),
        ("It is as good as GPT-4's: 0.8", 0.8),
        ("<think>At first 0.3, but 0.5 may do.</think>\n0.8", 0.8),
        ("At first 0.3.</think>0.8", 0.8),
        ("０．８", 0.8),
        ("８０％", 0.8),
        ("８／１０", 0.8),
        ("スコア：０．８", 0.8),
        ("この回答のスコアは0.8です。", 0.8),
        ("評価は８割程度です。", 0.8),
        ("80パーセント", 0.8),
        ("100点満点中80点です。", 0.8),
        ("10点満点で8点", 0.8),
        ("8点/10点", 0.8),
        ("0.0〜1.0で言うと0.8です", 0.8),
    ],
)
def test_read(text: str, value: float) -> None:
    assert parse(text).values == {"score": pytest.approx(value)}
    assert parse(text).notes == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer is empty"),
        ("<think>0.8", "still thinking"),
        ("A very good answer.", "no number for 'score'"),
        ("NaN", "no number"),
        ("½", "no number"),
        ("{}", "no number"),
        ("0.7 or 0.8", "several numbers for 'score' in the answer: 0.7, 0.8"),
        ("[0.2, 0.9]", "several numbers"),
        ('{"score": 0.2, "score": 0.9}', "several numbers"),
        ('{"score": 0.2} or {"score": 0.9}', "several numbers"),
        ('{"first": 0.2, "second": 0.9}', "several numbers"),
        ("0.7-0.8", "a range"),
        ("between 0.7 and 0.8", "a bound"),
        ("more than 0.8", "a bound"),
        ("0.8以上", "a bound"),
        ("0.8±0.1", "a bound"),
        ("There is 1 error in it.", "1 in the answer is not clearly a score"),
        ("It gives 3 reasons and is fine.", "3 in the answer is not clearly a score"),
        ("It covers 3 of 4 points.", "not clearly a score"),
        ("It costs 3.50 dollars.", "not clearly a score"),
        ("第3章は正しい。", "not clearly a score"),
        ("GPT-4 wrote this.", "no number"),
        ("80点", "does not say out of how many"),
        ("2026/11/17", "not a number that could be a score"),
        ("0.8²", "not a number that could be a score"),
        ("Version v1.2.3 of it", "no number"),
        ("Section 1.2.3", "not a number that could be a score"),
        ("1,000 words", "not a number that could be a score"),
        ("8/0", "divides by 0"),
        ('{"score": true}', "is true, which is not a number"),
        ('{"score": null}', "is null, which is not a number"),
        ('{"score": NaN}', "not finite"),
        ("1e999", "not finite"),
        ('{"score": 1' + "0" * 400 + "}", "not finite"),
        ("0.8 " * 10_000, "a number was asked for"),
    ],
)
def test_not_read_and_why(text: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        parse(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("1.2", 1.0, "score 1.2 was clamped to 1"),
        ("-0.2", 0.0, "score -0.2 was clamped to 0"),
        ("120%", 1.0, "score 1.2 was clamped to 1"),
        ("11/10", 1.0, "score 1.1 was clamped to 1"),
        ("スコアは8です", 1.0, "score 8 was clamped to 1"),
        ('{"score": 8}', 1.0, "score 8 was clamped to 1"),
    ],
)
def test_out_of_range_is_clamped_and_noted_or_refused(text: str, value: float, note: str) -> None:
    assert parse(text) == ({"score": value}, (note,))
    with pytest.raises(UnreadableError, match="not between 0 and 1"):
        parse(text, mode="strict")


TWO = ("evaluation", "coverage")


@pytest.mark.parametrize(
    "text",
    [
        '{"evaluation": 0.8, "coverage": 0.7}',
        '{"coverage": "70%", "evaluation": {"score": 0.8}}',
        "evaluation: 0.8, coverage: 0.7",
        "**Evaluation**: 8/10\n**Coverage**: 7/10",
        "Evaluation | 0.8\nCoverage | 0.7",
    ],
)
def test_several_numbers_by_name(text: str) -> None:
    assert parse(text, TWO).values == {"evaluation": pytest.approx(0.8), "coverage": pytest.approx(0.7)}


@pytest.mark.parametrize(
    "text", ["0.8", "0.8 and 0.7", '{"evaluation": 0.8}', "evaluation: 0.8", "coverage 0.1, coverage 0.2"]
)
def test_all_of_them_or_none(text: str) -> None:
    with pytest.raises(UnreadableError):
        parse(text, TWO)


@given(st.floats(0, 1))
def test_every_number_in_range_comes_back_as_it_is(number: float) -> None:
    for text in (f"{number!r}", f'{{"score": {number!r}}}', f"Score: {number!r}"):
        assert parse(text).values["score"] == pytest.approx(number, abs=1e-12)


@given(st.text() | st.text("0123456789.,/%-+ {}[]\"':`点割eE<>score"))
def test_any_text_gives_numbers_in_range_or_a_reason(text: str) -> None:
    for fields in (("score",), TWO):
        try:
            values = parse(text, fields).values
        except UnreadableError:
            continue
        assert set(values) == set(fields)
        assert all(0 <= value <= 1 for value in values.values())


@pytest.mark.parametrize(
    "piece", ["9 ", "8/", "1.1.", "<think>", "{", "[{", "```\n", "score: 1 ", "1点満点", "0,", "-", " ", "8" + " " * 50]
)
def test_no_text_takes_long(piece: str) -> None:
    started = time.process_time()
    with suppress(UnreadableError):
        parse("x" + piece * (19_000 // len(piece)))
    assert time.process_time() - started < 1.5
