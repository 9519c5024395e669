"""Which words does a sentence deny? English by what follows a negative word, Japanese by what stands before one."""

import re

from scalepan.confidence.stand_ins.stems import stems

_WORDS = re.compile(r"\w+(?:'\w+)?|[,;:.!?()—–]")
_NEGATIVE = """
    not no never none neither nor cannot without nobody nothing nowhere hardly barely scarcely fail fails failed failing
    lack lacks lacked lacking refuse refuses refused unable avoid avoids avoided
"""
_CUES = frozenset(_NEGATIVE.split())
# What looks like a denial and is none.
_ENGLISH_IDIOMS = re.compile(r"\b(?:not (?:only|just|merely|to mention)|no (?:doubt|matter)|why not)\b", re.IGNORECASE)
_BREAKS = frozenset([",", ";", ":", ".", "!", "?", "(", ")", "—", "–", "but", "because", "although", "though", "while"])
_SCOPE = 4
"""How many content words behind a negative word it denies."""

_JAPANESE_IDIOMS = re.compile(
    "かもしれ(?:ない|ません)|に違い(?:ない|ありません)|(?:なければ|なくては|ないと)(?:なら|いけ)(?:ない|ません)|ねばならない"
    "|(?:だけ|のみ)(?:で)?(?:は)?なく|ざるを得ない|にほかならない|(?:では|じゃ)ない(?:か|でしょうか)|やむを得ない|とんでもない"
    "|少ない|危ない|切ない|つまらない|くだらない|ないしは?|しか(?:ない|ありません)|間もなく|何気なく|限りなく"
)
_JAPANESE_CUE = re.compile(
    "なかった|ませんでした|ません|ないで|なくて|なくな|なく(?=[、。\\s]|$)|ない|ず(?=[、。に]|$)|ぬ(?=[、。]|$)|まい(?=[、。]|$)"
)
_CLAUSE = re.compile("[、。，,；;！？!?「」（）()]")
_BEFORE = 2


def denied(text: str) -> frozenset[str]:
    """The terms that a visible sentence denies.

    >>> sorted(denied("He did not accept the offer, but stayed."))
    ['accept', 'offer']
    """
    found = _english(text)
    if not text.isascii():
        found |= _japanese(text)
    return frozenset(found)


def has_cue(text: str) -> bool:
    """Whether a visible sentence denies anything at all.

    >>> has_cue("It is not only fast."), has_cue("解約できません。")
    (False, True)
    """
    if any(_is_cue(word) for word in _WORDS.findall(_ENGLISH_IDIOMS.sub(" ", text).lower())):
        return True
    return not text.isascii() and _JAPANESE_CUE.search(_JAPANESE_IDIOMS.sub("", text)) is not None


def _is_cue(word: str) -> bool:
    return word in _CUES or word.endswith("n't")


def _english(text: str) -> set[str]:
    words = _WORDS.findall(_ENGLISH_IDIOMS.sub(" ", text).lower())
    found: set[str] = set()
    left = 0
    for word in words:
        if _is_cue(word):
            left = _SCOPE
        elif word in _BREAKS:
            left = 0
        elif left and (known := stems(word)):
            found.update(known)
            left -= 1
    return found


def _japanese(text: str) -> set[str]:
    """The last words of a clause before its ending denies them."""
    found: set[str] = set()
    for clause in _CLAUSE.split(_JAPANESE_IDIOMS.sub("", text)):
        cues = list(_JAPANESE_CUE.finditer(clause))
        if cues:
            before = stems(clause[: cues[-1].start()][-40:])
            found.update(before[-_BEFORE:])
    return found
