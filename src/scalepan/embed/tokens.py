"""How does a text become the token ids that a graph reads?"""

from pathlib import Path
from typing import NamedTuple

from scalepan.embed.recipe import Recipe
from scalepan.errors import EncoderError, MissingExtraError


class Tokenized(NamedTuple):
    """A text as its model sees it."""

    ids: list[int]
    types: list[int]
    cut: bool


class TextTokenizer:
    """A tokenizer that truncates at the recipe's length. It does not pad: only the batch knows the length."""

    def __init__(self, path: Path, recipe: Recipe) -> None:
        try:
            from tokenizers import Tokenizer, normalizers
        except ImportError:
            raise MissingExtraError("a text encoder", "embed") from None
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers has no narrower exception
            raise EncoderError(f"{path}: not a tokenizer: {error}") from None
        added = tokenizer.num_special_tokens_to_add(is_pair=False)
        if recipe.max_tokens <= added:
            raise EncoderError(
                f"{path}: max_tokens {recipe.max_tokens} leaves no room: {added} are added to every text"
            )
        # A tokenizer file may set both, left over from how it was last used.
        tokenizer.no_padding()
        tokenizer.enable_truncation(recipe.max_tokens)
        if recipe.lowercase:
            old = [tokenizer.normalizer] if tokenizer.normalizer else []
            tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *old])
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> Tokenized:
        """One text at a time: a batch would start the tokenizer's own threads, and those do not survive a fork."""
        encoding = self._tokenizer.encode(text)
        return Tokenized(encoding.ids, encoding.type_ids, bool(encoding.overflowing))


def clean(text: str) -> str:
    r"""The text without lone surrogates, which tokenizers reject.

    >>> clean("a\ud800b") == "a\ufffdb"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
