"""Fragments: a text that is meant to the letter, told from one that is meant by its sense."""

import pytest

from scalepan.text import has_fragment


@pytest.mark.parametrize(
    "text",
    [
        "where is getUserName",
        "userID is empty",
        "TraceValueReader fails",
        "max_retry_count",
        "__init__ of a class",
        "import scalepan.memory",
        "open value.py",
        "see https://example.com",
        "www.example.com is down",
        "mail ann@example.com",
        "POST /subscriptions",
        "in src/scalepan/cli",
        "~/.scalepan does not exist",
        "C:\\Temp",
        "since v1.2",
        "since 1.2.3",
        "call rank()",
        "git commit --amend",
        "ls -l",
        "a != b",
        "std::move",
        "the <del> tag",
        "{id}",
        'the book "Little Women"',
        "the “did you mean” box",
        "run `make test`",
        "「自動更新」の設定",
        "ｇｅｔ＿ｎａｍｅ",  # full width
        "解約APIは scalepan.memory です",
    ],
)
def test_code_quotes_and_addresses(text: str) -> None:
    assert has_fragment(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "How do I cancel my plan?",
        "Does GitHub work on an iPhone, e.g. in the U.S.?",
        "state-of-the-art and/or long-term",
        "It costs 1,234.50 - or 3.5 % more.",
        "miR7a and mRNA in apoE3 mice",
        "I don't know; it's the user's",
        'a 5" screen',
        "解約方法を教えてください。",
        "구독을 취소",
    ],
)
def test_ordinary_words(text: str) -> None:
    assert not has_fragment(text)
