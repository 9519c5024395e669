"""Which script is this run of text in, as far as finding words is concerned?"""

import re
from typing import Literal

Script = Literal["spaced", "japanese", "hangul", "unspaced"]

HAN = "々〆〇〻\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
HIRAGANA = "\u3041-\u309f"
# The long vowel mark and the iteration marks belong to the word; the middle dot separates words.
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
KANA = HIRAGANA + KATAKANA
HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
# Thai, Lao, Burmese and Khmer are written without spaces between words.
UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"

_RUN = re.compile(
    f"(?P<japanese>[{HAN}{KANA}]+)|(?P<hangul>[{HANGUL}]+)|(?P<unspaced>[{UNSPACED}]+)"
    f"|(?P<spaced>[^{HAN}{KANA}{HANGUL}{UNSPACED}]+)"
)
_HAS_KANA = re.compile(f"[{KANA}]")


def runs(text: str) -> list[tuple[Script, str]]:
    """The text cut where the way of finding words changes; `japanese` stands for Han and kana alike.

    >>> runs("解約APIは、취소")
    [('japanese', '解約'), ('spaced', 'API'), ('japanese', 'は'), ('spaced', '、'), ('hangul', '취소')]
    """
    if text.isascii():
        return [("spaced", text)]
    return [(match.lastgroup, match.group()) for match in _RUN.finditer(text)]  # type: ignore[misc]


def has_kana(text: str) -> bool:
    """Whether any character is only used in Japanese."""
    return _HAS_KANA.search(text) is not None


def beyond_japanese(run: str) -> bool:
    """Whether a run of Han has a character that Japanese does not use, such as simplified Chinese.

    >>> beyond_japanese("取消订阅"), beyond_japanese("解約方法")
    (True, False)
    """
    try:
        run.encode("cp932")
    except UnicodeEncodeError:
        return True
    return False
