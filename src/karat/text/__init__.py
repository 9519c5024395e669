"""Text to terms, sentences and normal form: the words that search, hashing and counting agree on."""

from karat.text.fragments import has_fragment
from karat.text.invisible import has_visible
from karat.text.japanese import Morphology
from karat.text.normal import content_hash, normal_form
from karat.text.sentences import Sentence, sentences
from karat.text.terms import terms, terms_version, word_count
from karat.text.tokens import token_count

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
