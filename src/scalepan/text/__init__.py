"""Text to terms, sentences and normal form: shared by search, hashing and counting."""

from scalepan.text.fragments import has_fragment
from scalepan.text.invisible import has_visible
from scalepan.text.japanese import Morphology
from scalepan.text.normal import content_hash, normal_form
from scalepan.text.sentences import Sentence, sentences
from scalepan.text.terms import terms, terms_version, word_count
from scalepan.text.tokens import token_count

__all__ = [
    "Morphology",
    "Sentence",
    "content_hash",
    "has_fragment",
    "has_visible",
    "normal_form",
    "sentences",
    "terms",
    "terms_version",
    "token_count",
    "word_count",
]
