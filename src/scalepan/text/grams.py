"""N-grams: neighboring characters in place of words, for text without spaces and without a dictionary."""

import re

from scalepan.text.scripts import HAN

_CHARACTER = re.compile(f"(?!々)[{HAN}]")


def grams(run: str, size: int) -> list[str]:
    """Every `size` neighbors; a shorter run is one gram.

    >>> grams("구독을", 2), grams("네", 2)
    (['구독', '독을'], ['네'])
    """
    if len(run) <= size:
        return [run]
    return [run[at : at + size] for at in range(len(run) - size + 1)]


def han_grams(run: str) -> list[str]:
    """Every two neighbors, then each Han character alone, so that 猫 finds 黒猫.

    >>> han_grams("黒猫が")
    ['黒猫', '猫が', '黒', '猫']
    """
    return grams(run, 2) + _CHARACTER.findall(run) if len(run) > 1 else [run]
