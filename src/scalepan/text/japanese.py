"""Which words are in a run of Japanese? By Sudachi, if the extra `ja` is installed."""

import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from scalepan.errors import MissingExtraError
from scalepan.text.stops import JAPANESE as STOPS

Morphology = Literal["auto", "on", "off"]
"""Japanese by morphology: if it is installed, or always (an error if it is not), or never."""

# Particles, auxiliaries, conjunctions, pronouns and punctuation carry grammar, not content.
_SIGNS = frozenset(["補助記号", "記号", "空白"])
_GRAMMAR = _SIGNS | {"助詞", "助動詞", "接続詞", "連体詞", "代名詞"}
# Sudachi refuses more than 49,149 bytes, and its time grows faster than the text.
_PIECE = 1000
_SHORT = 8  # runs of this length recur, longer ones seldom

_of_thread = threading.local()


def use_morphology(wanted: Morphology) -> bool:
    """Whether morphology is used; MissingExtraError if it is required and not installed."""
    if wanted == "off":
        return False
    if wanted == "on" and not _installed():
        raise MissingExtraError("Japanese by morphology", "ja")
    return _installed()


@cache
def dictionary_version() -> str:
    """The dictionary's release: another one may have other words."""
    from importlib.metadata import version

    return version("sudachidict_core")


def morphemes(run: str) -> list[str]:
    """The words of a run of Japanese, each in its normal form, without grammar and stop words.

    >>> morphemes("サーバの解約方法を教えてください")
    ['サーバー', '解約', '方法', '教える', '下さる']
    """
    if len(run) <= _SHORT:
        return list(_kept(run))
    return [word for start in range(0, len(run), _PIECE) for word in _words(run[start : start + _PIECE])]


def morpheme_count(run: str) -> int:
    """How many words a run of Japanese has, particles and other grammar included; punctuation is not a word.

    >>> morpheme_count("解約方法を、教えて")
    5
    """
    pieces = (run[start : start + _PIECE] for start in range(0, len(run), _PIECE))
    return sum(m.part_of_speech()[0] not in _SIGNS for piece in pieces for m in _tokenizer().tokenize(piece))


@lru_cache(maxsize=1 << 15)
def _kept(run: str) -> tuple[str, ...]:
    # Between English words there are single particles and the same few nouns; each call of Sudachi costs time.
    return tuple(_words(run))


def _words(piece: str) -> Iterator[str]:
    for morpheme in _tokenizer().tokenize(piece):
        form: str = morpheme.normalized_form()
        if form not in STOPS and morpheme.part_of_speech()[0] not in _GRAMMAR:
            yield form


@cache
def _installed() -> bool:
    return find_spec("sudachipy") is not None and find_spec("sudachidict_core") is not None


@cache
def _dictionary() -> Any:
    return import_module("sudachipy").Dictionary()


def _tokenizer() -> Any:
    """One per thread: a tokenizer cannot be shared while it is in use."""
    if not hasattr(_of_thread, "tokenizer"):
        dictionary = _dictionary()
        # Before 0.7 a tokenizer was made by `create`, which now warns.
        make = dictionary.tokenizer if hasattr(dictionary, "tokenizer") else dictionary.create
        # The shortest units: 解約方法 is found by 解約 and by 方法.
        _of_thread.tokenizer = make(mode=import_module("sudachipy").SplitMode.A)
    return _of_thread.tokenizer
