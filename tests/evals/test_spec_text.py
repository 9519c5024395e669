"""The scorers of free text: equal, like, near in meaning."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from scalepan.errors import InputError
from scalepan.evals import (
    Evaluator,
    Output,
)
from scalepan.score import Score
from tests.evals.spec import Json, case, details, score_of


def text(name: str, got: Any, wanted: Any, **options: Any) -> Score:
    return score_of(name, {"output": got}, {"output": wanted}, **options)


@pytest.mark.parametrize(
    ("name", "got", "wanted", "options", "value"),
    [
        ("exact", "東京", "東京", {}, 1.0),
        ("exact", "東京", "京都", {}, 0.0),
        ("exact", "Yes", "yes", {}, 0.0),
        ("exact", "Yes", "yes", {"ignoreCase": True}, 1.0),
        ("exact", " a  b\n", "a b", {}, 0.0),
        ("exact", " a  b\n", "a b", {"ignoreSpace": True}, 1.0),
        ("exact", "ＡＢＣ１２３", "ABC123", {}, 0.0),
        ("exact", "ＡＢＣ１２３", "ABC123", {"nfkc": True}, 1.0),
        ("contains", "the answer is 42", "42", {}, 1.0),
        ("contains", "the answer is 42", ["42", "answer", "43", "47"], {}, 0.5),  # 2 / 4
        ("contains", "要約です", ["要約", "まとめ"], {}, 0.5),
        ("contains", "Answer", "answer", {"ignoreCase": True}, 1.0),
        ("regex", "order 123", r"\d+", {}, 1.0),
        ("regex", "order 123", [r"\d+", "^123"], {}, 0.5),  # searched; 123 is not where the text begins
        ("regex", "first\nlast", "first.last", {}, 1.0),  # . crosses lines
        ("regex", "ORDER", "order", {}, 0.0),
        ("regex", "ORDER", "order", {"ignoreCase": True}, 1.0),
        ("levenshtein", "kitten", "sitting", {}, 4 / 7),  # 1 - 3 / 7
        ("levenshtein", "", "", {}, 1.0),
        ("levenshtein", "", "abc", {}, 0.0),
        ("levenshtein", "東京都", "京都", {}, 2 / 3),  # 1 - 1 / 3
        ("levenshtein", "ABC", "abc", {"ignoreCase": True}, 1.0),
        ("numeric", 3.1, 3, {}, 0.0),
        ("numeric", 3.1, 3, {"tolerance": 0.2}, 1.0),
        ("numeric", 3.25, 3, {"tolerance": 0.25}, 1.0),
        ("numeric", 110, 100, {"relative": 0.1}, 1.0),  # 10 <= 100 x .1
        ("numeric", 111, 100, {"relative": 0.1}, 0.0),
        ("numeric", -110, -100, {"relative": 0.1}, 1.0),
        ("numeric", "1,250 円", 1250, {}, 1.0),
        ("numeric", "約３００円", 300, {}, 1.0),
        ("numeric", "nothing", 300, {}, 0.0),
        ("numeric", "1 or 2", 1, {}, 0.0),  # two numbers are no answer
        ("numeric", "-2.5e3", -2500, {}, 1.0),
        ("numeric", True, 1, {}, 0.0),
        ("numeric", None, 1, {}, 0.0),
    ],
)
def test_free_text(name: str, got: Any, wanted: Any, options: Json, value: float) -> None:
    assert text(name, got, wanted, **options).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("got", "wanted", "options", "value"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, 1.0),
        ('{"a": 1}', {"a": 1}, {}, 1.0),  # JSON in a text
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, {}, 0.5),
        ({"a": 1}, {"a": 1, "b": 2}, {}, 0.5),  # b is missing
        ({"a": 1, "x": 2}, {"a": 1}, {}, 0.5),  # x is one too many
        ({"a": 1, "x": 2}, {"a": 1}, {"extra": False}, 1.0),
        ([1, 2], [2, 1], {}, 0.0),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"fields": {"a": "set"}}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": None}, {}, {}, 0.0),
        ({"t": "Yes"}, {"t": "yes"}, {"fields": {"t": "ignoreCase"}}, 1.0),
        ({"t": "kitten"}, {"t": "sitting"}, {"fields": {"t": "levenshtein"}}, 4 / 7),
        ({"n": 3.1}, {"n": 3}, {"fields": {"n": {"how": "numeric", "tolerance": 0.2}}}, 1.0),
        ({"t": "the long text"}, {"t": "long"}, {"fields": {"t": "contains"}}, 1.0),
        ({"a": 1, "when": "now"}, {"a": 1, "when": "then"}, {"fields": {"when": "ignore"}}, 1.0),
        (
            {"items": [{"price": 10.4}, {"price": 30}]},
            {"items": [{"price": 10}, {"price": 20}]},
            {"fields": {"items[].price": {"how": "numeric", "tolerance": 0.5}}},
            0.5,
        ),
        ("not json", {"a": 1}, {}, 0.0),
    ],
)
def test_json_equal(got: Any, wanted: Any, options: Json, value: float) -> None:
    assert text("json-equal", got, wanted, **options).value == pytest.approx(value, abs=1e-12)


def test_json_equal_says_which_fields_differ() -> None:
    made = details(text("json-equal", {"a": {"b": 2}, "c": 1}, {"a": {"b": 3}, "c": 1}))
    assert made["fields"] == 2
    assert [one["path"] for one in made["differences"]] == ["a.b"]


def test_an_unknown_comparator_is_an_input_error() -> None:
    with pytest.raises(InputError, match="numeric"):
        Evaluator([{"type": "json-equal", "fields": {"a": "numerc"}}])


class TwoWords:
    """An encoder that knows two directions."""

    model_id = "two-words"

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        known = {"cat": (1.0, 0.0), "dog": (0.6, 0.8), "not cat": (-1.0, 0.0), "": (0.0, 0.0)}
        return np.array([known[text] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("got", "wanted", "value"),
    [
        ("cat", "cat", 1.0),
        ("dog", "cat", 0.6),  # .6 x 1 + .8 x 0
        ("not cat", "cat", 0.0),  # a cosine of -1 is not below 0
        ("", "cat", 0.0),  # a vector without length is like nothing
    ],
)
def test_embedding_similarity(got: str, wanted: str, value: float) -> None:
    score = text("embedding-similarity", got, wanted, embedder=TwoWords)
    assert score.value == pytest.approx(value, abs=1e-6)


def test_without_an_encoder_similarity_has_failed() -> None:
    score = text("embedding-similarity", "cat", "cat")
    assert (score.status, score.value) == ("failed", None)


@pytest.mark.parametrize("name", ["exact", "contains", "regex", "json-equal", "levenshtein", "numeric"])
def test_a_case_that_expects_no_text_fails_the_scorer_and_not_the_run(name: str) -> None:
    bare = case({}, [], scorers=[{"type": name}])
    (one,) = Evaluator().evaluate(bare, Output(id="c-1", output="x")).results
    assert (one.status, one.passed) == ("failed", False)
    assert "expected.output" in one.reason
