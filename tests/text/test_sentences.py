"""Sentences: where one ends, in English, in Japanese and in lists."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.text import Sentence, sentences

# `|` marks where a sentence ends; it is taken out before the text is cut.
CASES = [
    "One.| Two!| Three?| Four",
    "Dr. Wu met Mr. J. Smith at 3.5 p.m. yesterday.| He left.",
    "It costs $1.50.| Version 1.2.3 is out.| See example.com/a.b for more.",
    "Use a tool, e.g. Scalepan, vs. Others (cf. Wu et al. 2024).| Then go on.",
    "See fig. 3 and no. 5.| Did he say no.| No.| Then so do I.| Good.",
    'He said "Stop!" and left.| "Really?" she asked.| "Yes."| Fine.',
    "Well... maybe.| Wait…| Now.",
    "What?!| No way!!| (It is true.)| He knows.",
    "The U.S. Army (see X. Then Y.) moved.| Then it stopped.",
    "Shopping:|\n- apples|\n- pears|\n\n1. Wash them. |\n2. Eat.| Enjoy.",
    "A line that was broken\nto fit a page.| A title|\n\nand text",
    "A line|\nAnother line",
    "今日は晴れ。|明日は雨！|本当？|はい",
    "「はい。そうです。」と答えた。|彼は笑った。",
    "「行こう。」|彼は言った。|「どこへ？」と聞いた。",
    "注意（例外がある。後述）。|次へ。",
    "値は３．１４です．|終わり",
    "すごい!|次は APIを v1.2 に上げる。|Done.| 完了。",
    "閉じない「かっこ。|それでも文は終わる。",
    "顔文字 :( のあと。|次の文 (注。補足) です。",
    "見出し|\n本文です。|\n・一つ目|\n・二つ目",
    "One.\r\n|Two.|\r\n\r\nThree",
]


@pytest.mark.parametrize("marked", CASES)
def test_where_sentences_end(marked: str) -> None:
    text = marked.replace("|", "")
    assert [sentence.text for sentence in sentences(text)] == [part.strip() for part in marked.split("|")]


def test_each_sentence_knows_its_place() -> None:
    assert sentences("  One.\n\n Two. ") == [Sentence("One.", 2, 6), Sentence("Two.", 9, 13)]
    assert sentences(" \n ") == []


signs = st.sampled_from([*"aB1.!?…。！．「」（）()[]\"'“” \n\r\u3000\ud800漢か", "Dr", "e.g."])


@given(st.one_of(st.lists(signs, max_size=30).map("".join), st.text(st.characters(exclude_categories=[]))))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    found = sentences(text)
    assert "".join(re.sub(r"\s", "", sentence.text) for sentence in found) == re.sub(r"\s", "", text)
    last = 0
    for sentence in found:
        assert sentence.start >= last
        assert text[sentence.start : sentence.end] == sentence.text == sentence.text.strip() != ""
        last = sentence.end
