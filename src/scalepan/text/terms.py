"""Which terms is a text found by? The same for documents and queries, in order, with repeats, as BM25 counts them."""

import re
from math import ceil

from scalepan.text.fragments import phrases
from scalepan.text.grams import grams, han_grams
from scalepan.text.japanese import Morphology, dictionary_version, morpheme_count, morphemes, use_morphology
from scalepan.text.normal import visible
from scalepan.text.scripts import HAN, HIRAGANA, KATAKANA, beyond_japanese, has_kana, runs
from scalepan.text.words import name_terms, names

_RULES = 1
"""Raised when the same text gives other terms than before."""

# For counting without a dictionary: two Han characters, a run of katakana, or two hiragana are about a word. On
# 3,848 characters of technical Japanese that gives 2,067 where Sudachi counts 2,055.
_ABOUT_A_WORD = re.compile(f"[{HAN}]{{1,2}}|[{KATAKANA}]+|[{HIRAGANA}]{{1,2}}")


def terms(text: str, morphology: Morphology = "auto") -> list[str]:
    """The terms of a text: stems, names whole and in parts, words or n-grams of unspaced text, quoted phrases last.

    >>> terms("Cancelling the subscriptions")
    ['cancel', 'subscript']
    >>> terms("解約APIは POST /v1/cancel", morphology="off")
    ['解約', '解', '約', 'api', 'は', 'post', 'v1/cancel', 'v1', 'cancel']
    """
    by_words = use_morphology(morphology)
    text = visible(text)
    kana = by_words and has_kana(text)
    found: list[str] = []
    for script, run in runs(text):
        if script == "spaced":
            for name in names(run):
                found += name_terms(name)
        elif script == "japanese":
            found += _words_of(run, kana) if by_words else han_grams(run)
        else:
            # Two Hangul syllables are about a word; other unspaced letters need three.
            found += grams(run, 2 if script == "hangul" else 3)
    if quoted := phrases(text):
        known = set(found)
        found += [phrase for phrase in quoted if phrase not in known]
    return found


def _words_of(run: str, kana: bool) -> list[str]:
    """By morphology, unless it is Chinese; `kana` says whether the text has any."""
    if has_kana(run):
        return morphemes(run)
    if beyond_japanese(run):
        return han_grams(run)
    # Han without kana, in a heading or a query, may be Chinese or Japanese: index both readings.
    return morphemes(run) if kana else morphemes(run) + han_grams(run)


def word_count(text: str, morphology: Morphology = "auto") -> int:
    """How many words a reader would count, stop words included: a name is one, unspaced text is estimated.

    >>> word_count("How do I cancel getUserName?"), word_count("解約方法を教えて", morphology="off")
    (5, 5)
    """
    by_words = use_morphology(morphology)
    count = 0
    for script, run in runs(visible(text)):
        if script == "spaced":
            count += len(names(run))
        elif script == "japanese":
            count += morpheme_count(run) if by_words else len(_ABOUT_A_WORD.findall(run))
        else:
            count += 1 if script == "hangul" else ceil(len(run) / 5)
    return count


def terms_version(morphology: Morphology = "auto") -> str:
    """The version of the term rules; an index built with another version must be rebuilt.

    >>> terms_version("off")
    'terms 1'
    """
    return f"terms {_RULES}, sudachi {dictionary_version()}" if use_morphology(morphology) else f"terms {_RULES}"
