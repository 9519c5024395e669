"""Terms: what a text is found by, in English, Japanese, both at once, and code."""

import os
import subprocess
import sys
import threading
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import MissingExtraError
from scalepan.text import japanese, terms, terms_version, word_count
from scalepan.text.words import LONGEST_TERM

any_text = st.text(st.characters(exclude_categories=[]))


@pytest.fixture
def words_of_japanese() -> None:
    pytest.importorskip("sudachidict_core", reason="Japanese by morphology: pip install 'scalepan[ja]'")


ENGLISH = [
    ("Cancel the subscription", "cancel subscript"),
    ("cancelling subscriptions", "cancel subscript"),
    ("The users' rights, the user's right", "user right user right"),
    ("I don't know; it’s here!", "know"),  # either apostrophe
    ("What is it that they do?", ""),  # nothing but stop words
    ("May will tell us who can", "may will tell us who can"),  # names, too: kept
    ("state-of-the-art", "state-of-the-art state art"),
    ("and/or", "and/or"),
    ("IDs of mRNA", "id mrna rna"),
    ("Zürich, naïve, ΑΘΗΝΑ", "zurich naiv αθηνα"),
    ("1,234,567.8 of 1,000 (10%)", "1234567.8 1000 10"),
    ("1,23 and 1,2345", "1 23 1 2345"),  # no thousands
    ("pi is 3.14, at 12:30", "pi 3.14 12:30 12 30"),
    ("C++ or C#, not C", "c++ c c# c c"),
    ("nice 🎉👍🏽 work👩‍💻", "nice 🎉 👍 work 👩 💻"),
    ("हिन्दी भाषा। Việt Nam", "हिन्दी भाषा viet nam"),
    ("q\u0307 x\u0323y", "q xy"),  # accents that compose with nothing
]


@pytest.mark.parametrize(("text", "expected"), ENGLISH)
def test_english(text: str, expected: str) -> None:
    assert terms(text) == expected.split()
    assert terms(text, "off") == expected.split()


CODE = [
    ("getUserName", ["getusername", "get", "user", "name"]),
    ("XMLHttpRequest2", ["xmlhttprequest2", "xml", "http", "request2"]),
    ("MAX_RETRY_COUNT", ["max_retry_count", "max", "retri", "count"]),
    ("__init__", ["__init__", "init"]),
    ("scalepan.memory.rank", ["scalepan.memory.rank", "scalepan", "memori", "rank"]),
    ("rank(query, k=12)", ["rank", "queri", "k=12", "k", "12"]),
    ("std::vector", ["std::vector", "std", "vector"]),
    ("src/scalepan/cli/value.py", ["src/scalepan/cli/value.py", "src", "scalepan", "cli", "value.py", "valu", "py"]),
    ("C:\\Temp\\a_b.txt", ["c:\\temp\\a_b.txt", "c", "temp", "a_b.txt", "a_b", "b", "txt"]),
    (
        "https://example.com/a/b?c=d",
        ["https://example.com/a/b?c=d", "https", "example.com", "exampl", "com", "b", "c", "d"],
    ),
    ("(see www.example.com.)", ["see", "www.example.com", "www", "exampl", "com"]),
    ("ann.lee@example.com", ["ann.lee@example.com", "ann.lee", "ann", "lee", "example.com", "exampl", "com"]),
    ("v1.2.3", ["v1.2.3", "1.2.3", "1", "2", "3"]),
    ("Python 3.14 is V3.14", ["python", "3.14", "v3.14", "3.14"]),
    ("all-MiniLM-L6-v2", ["all-minilm-l6-v2", "all", "minilm", "mini", "lm", "l6", "v2"]),
    ("2024-01-05", ["2024-01-05", "2024", "01", "05"]),
    ("sha256 k8s utf8", ["sha256", "k8s", "utf8"]),
]


@pytest.mark.parametrize(("text", "expected"), CODE)
def test_names_are_found_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert terms(text, "off") == expected


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ('find the "Exact  Phrase" now', ["exact phrase"]),
        ("say “cancelled plans” and `git commit -m`", ["cancelled plans", "git commit -m"]),
        ("「自動更新の停止」を探す", ["自動更新の停止"]),
        ("『解約』", []),  # the phrase is a term of its own already
        ('a 5" screen and a 6" one', []),  # inches
        ('"a speech" ' + '"' + "long " * 30 + '"', ["a speech"]),
    ],
)
def test_quoted_phrases_come_whole_behind_their_parts(text: str, last: list[str]) -> None:
    found = terms(text, "off")
    plain = terms("".join(" " if mark in '"“”「」『』`' else mark for mark in text), "off")
    assert found == plain + last


JAPANESE = [
    ("解約方法を教えて", ["解約", "方法", "教える"]),
    ("サーバの設定をした。", ["サーバー", "設定"]),  # the long vowel at the end is a matter of taste
    ("ｻｰﾊﾞｰの設定", ["サーバー", "設定"]),
    ("食べられなかった人々", ["食べる", "人々"]),
    ("時々、佐々木さんは", ["時々", "佐々木", "さん"]),
    ("それはこのことである", []),  # nothing but grammar
    (
        "解約APIは POST /subscriptions/{id}/cancel",
        ["解約", "api", "post", "subscriptions/{id}/cancel", "subscript", "id", "cancel"],
    ),
    ("第1世代のGPUを2枚", ["第", "1", "世代", "gpu", "2", "枚"]),
    ("ジョン・フォン・ノイマン", ["ジョン", "フォン", "ノイマン"]),
]


@pytest.mark.usefixtures("words_of_japanese")
@pytest.mark.parametrize(("text", "expected"), JAPANESE)
def test_japanese_by_morphology(text: str, expected: list[str]) -> None:
    assert terms(text) == terms(text, "on") == expected


JAPANESE_GRAMS = [
    ("解約方法を", ["解約", "約方", "方法", "法を", "解", "約", "方", "法"]),
    ("ｻｰﾊﾞｰ", ["サー", "ーバ", "バー"]),
    ("人々", ["人々", "人"]),
    ("すゝめ", ["すゝ", "ゝめ"]),
    ("猫", ["猫"]),
    ("解約APIは", ["解約", "解", "約", "api", "は"]),
    ("取消订阅", ["取消", "消订", "订阅", "取", "消", "订", "阅"]),
    ("𠮷野家", ["𠮷野", "野家", "𠮷", "野", "家"]),  # beyond the first plane
]


@pytest.mark.parametrize(("text", "expected"), JAPANESE_GRAMS)
def test_han_and_kana_by_neighbours(text: str, expected: list[str]) -> None:
    assert terms(text, "off") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("구독을 취소", ["구독", "독을", "취소"]),
        ("네", ["네"]),
        ("ยกเลิก", ["ยกเ", "กเล", "เลิ", "ลิก"]),
        ("APIを취소", ["api", "を", "취소"]),
    ],
)
def test_korean_and_thai_by_neighbours(text: str, expected: list[str]) -> None:
    assert terms(text, "off") == expected


@pytest.mark.usefixtures("words_of_japanese")
def test_han_without_kana_is_found_from_japanese_and_from_chinese() -> None:
    query = set(terms("取消"))
    assert query & set(terms("注文の取り消しについて"))  # another spelling: by morphology
    assert query & set(terms("我们可以取消订阅"))  # by neighbours
    assert "取り消し" not in terms("我们可以取消订阅")  # Chinese is not read as Japanese


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("ＡＰＩ", "the api"),
        ("value.py", "see src/scalepan/cli/value.py"),
        ("user name", "call getUserName()"),
        ("1.2.3", "released v1.2.3 today"),
        ("example.com", "https://example.com/a"),
        ("ガード", "ｶﾞｰﾄﾞを外す"),
        ("café", "CAFE\u0301"),
        ("サーバ", "サーバーを再起動"),
        ("구독", "구독을 취소했다"),
    ],
)
@pytest.mark.parametrize("morphology", ["off", "auto"])
def test_a_query_finds_a_document_that_writes_it_otherwise(
    query: str, document: str, morphology: japanese.Morphology
) -> None:
    assert set(terms(query, morphology)) <= set(terms(document, morphology))


@given(any_text, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_terms_do_not_depend_on_how_a_text_is_composed(text: str, form: str) -> None:
    assert terms(normalize(form, text)) == terms(text)  # type: ignore[arg-type]


pieces = st.sampled_from(
    [
        *"aB_./-:'\"`“”「」。1,はー々🎉é\n\u0301\u200d\ud800",
        "user",
        "Name",
        "234",
        "解約",
        "サーバ",
        "取消订阅",
        "취소",
        "ยก",
    ]
)


@given(st.lists(st.one_of(pieces, any_text), max_size=12).map("".join), st.sampled_from(["auto", "off"]))
def test_any_text_has_terms_that_can_be_kept(text: str, morphology: japanese.Morphology) -> None:
    for term in terms(text, morphology):
        assert term == term.strip() != ""
        assert len(term) <= 4 * LONGEST_TERM  # folding can lengthen
    assert word_count(text, morphology) >= 0


@given(st.lists(st.sampled_from(["Cancel", "plans.", "getUserName", "解約", "v1.2.3", "(now)", "취소"]), max_size=8))
def test_repeats_and_order_are_kept(words: list[str]) -> None:
    assert terms(" ".join(words), "off") == [term for word in words for term in terms(word, "off")]


def test_a_very_long_word_is_known_by_its_beginning() -> None:
    assert terms("x1" * 1000, "off") == ["x1" * 100]


@pytest.mark.parametrize(
    ("text", "words", "estimate"),
    [
        ("", 0, 0),
        ("How do I cancel?", 4, 4),  # stop words are words
        ("to be or not to be", 6, 6),
        ("call scalepan.memory.rank first", 3, 3),  # a name is one word
        ("解約方法を教えて", 5, 5),  # 解約 方法 を 教え て
        ("サーバーのログを見たい", 6, 6),
        ("解約、返金。", 2, 2),  # signs are not words
        ("パスワードを忘れた", 4, 4),
        ("구독을 취소", 2, 2),
    ],
)
def test_word_count(text: str, words: int, estimate: int, words_of_japanese: None) -> None:
    assert (word_count(text), word_count(text, "off")) == (words, estimate)


def test_without_the_extra_japanese_is_cut_into_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(japanese, "_installed", lambda: False)
    assert terms("解約") == terms("解約", "off")
    assert terms_version() == terms_version("off")
    with pytest.raises(MissingExtraError, match=r"pip install 'scalepan\[ja\]'"):
        terms("any text", "on")


@pytest.mark.usefixtures("words_of_japanese")
def test_the_version_says_which_dictionary_found_the_words() -> None:
    assert terms_version().startswith(terms_version("off") + ", sudachi 20")


@pytest.mark.usefixtures("words_of_japanese")
def test_threads_and_forked_children_find_the_same_terms() -> None:
    texts = [f"{number}番のサーバーを解約する手順と getUserName{number}" for number in range(200)]
    expected = [terms(text) for text in texts]
    answers: list[list[list[str]]] = []
    threads = [threading.Thread(target=lambda: answers.append([terms(text) for text in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 4
    child = os.fork()
    if child == 0:
        os._exit(0 if [terms(text) for text in texts] == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_importing_loads_no_stemmer_and_no_dictionary() -> None:
    code = "import sys, scalepan.text; scalepan.text.sentences('One. Two.'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"Stemmer", "sudachipy", "numpy", "regex", "msgspec"}.isdisjoint(loaded)
