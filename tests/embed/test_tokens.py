"""From text to token ids."""

from pathlib import Path

import pytest

from scalepan.embed.recipe import read_recipe
from scalepan.embed.tokens import TextTokenizer, clean
from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed
from tests.embed.tiny import WORDS, tiny_encoder

ID = {word: index for index, word in enumerate(WORDS)}


def tokens(folder: Path, **settings: int) -> TextTokenizer:
    return TextTokenizer(folder / "tokenizer.json", read_recipe(folder, Embed(**settings)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words", "cut"),
    [
        ("", ["[CLS]", "[SEP]"], False),
        ("a c", ["[CLS]", "a", "c", "[SEP]"], False),
        ("a b c", ["[CLS]", "a", "b", "c", "[SEP]"], False),  # just fits
        ("a b c a", ["[CLS]", "a", "b", "c", "[SEP]"], True),
        ("a zebra", ["[CLS]", "a", "[UNK]", "[SEP]"], False),
    ],
)
def test_a_text_is_cut_at_max_tokens_and_not_padded(text: str, words: list[str], cut: bool, tmp_path: Path) -> None:
    found = tokens(tiny_encoder(tmp_path), max_tokens=5)(text)
    assert found.ids == [ID[word] for word in words]
    assert found.types == [0] * len(words)
    assert found.cut is cut


def test_a_model_that_wants_lower_case_gets_it(tmp_path: Path) -> None:
    tiny_encoder(tmp_path, {"sentence_bert_config.json": {"do_lower_case": True}})
    assert tokens(tmp_path)("A B") == tokens(tmp_path)("a b")


def test_a_length_that_leaves_no_room_for_text_is_refused(tmp_path: Path) -> None:
    tiny_encoder(tmp_path)
    with pytest.raises(EncoderError, match="max_tokens 2 leaves no room: 2 are added to every text"):
        tokens(tmp_path, max_tokens=2)
    assert len(tokens(tmp_path, max_tokens=3)("a b").ids) == 3


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    (tiny_encoder(tmp_path) / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"tokenizer\.json: not a tokenizer"):
        tokens(tmp_path)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain 日本 😀", "plain 日本 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),  # two halves that belong together
    ],
)
def test_lone_surrogates_are_replaced_and_nothing_else(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned
