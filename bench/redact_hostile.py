"""Megabytes made to be slow: how long redaction takes, and how that grows from half of each to all of it, in CPU time.

python -m bench.redact_hostile
"""

import random
import string
from statistics import median

from bench.timing import best_cpu, row
from scalepan.redact import Redactor
from tests.redact.fakes import TOKENS
from tests.redact.test_hostile import NAMED, PREFIXES, SHAPES, filled

SIZE = 1_000_000
WORST = 20
SEED = 3
# Matches and near matches, as dense as possible; and what every rule has to examine.
WORDS = """
a@b.co, 1.2.3.4, 2001:db8::1 1234567a 12345678901a 4111111111111111a 123456789018, 03-1234-5678/ +81901234567 +1234567,
電話1234567、 password=a1b2c3, pw=ab1c pw="ab1c" apikey= AKIAAKIAAKIAAKIAAKIA GB82WEST12345698765432 ://a:b@c
ab:cd:ef:01:23:45 f:f:f:f:f:f:f:f f:f:f:f:f:f:f:g eyJaaaaaaa.aaaaaaa. パスワードは「a password>aaaa</ git@github.com
"""
DENSE = [
    *WORDS.split(),
    *(f"{piece} " for piece in WORDS.split()),
    *(
        "a@b.co\u0301",
        "\u200ba@b.co",
        "\ud83d\ude00a@b.co",
        "か\u3099password=hunter2\u0301",
        "a\r\npassword=hunter2\r\n",
    ),
    *(
        "ｐａｓｓｗｏｒｄ＝ｈｕｎｔｅｒ２ ",
        "AT61 1904 3002 3457 3201 ",
        "GB82 WEST 1234 5698 7654 33 ",
        "phone: 1234567\n",
    ),
    *(
        "457-55-5462 ",
        "card 123456789012 ",
        "Bearer a1a1a1a1a1a1a1a1 ",
        "Basic dTpw ",
        "curl -u a:bbbb ",
        "login a password abcd ",
    ),
    *("password: " + "x" * 99 + "1 ", "password: " + "." * 99 + "1 ", "password=" * 28 + " ", "call me at 1234567\n"),
    *(
        "ibm_key" + " " * 32 + "a" * 44,
        "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----\n",
        "2021-01-01T12:30:45.123456Z ",
    ),
    # the same behind what is folded, joined or left out, and in lines
    *("＠a@b.co", "a@b.co\u00ad", "a@b.co\u200d", "👩a@b.co", "か\u3099a@b.co", "１.２.３.４ ", "あpw=ab1c"),
    *("pw=a1b2\u0301 ", "pw=a1b2\r\n", "pw=Zz9!\n", "--password z9z9 ", "x=1.2.3.4,pw=z9z9z9,", "1.1.1.1;2.2.2.2;"),
    *("tel:1234567;", "電話0312345678", "[secret:a]1.2.3.4 ", "1234-5678-9012-3456 "),
    # what an attacker found
    *("&pw=my_a", "&pw=a1bb", "&pw=none", "pw=my_a ", "PW=abcd ", "token=" * 40 + " ", "/glc_", "x" * 64 + "@b.co"),
    *("apikey:apikey=akeyAKIA", "iamkey=keyAakeyAdbkey="),
]
# Related values in any order: one redaction uncovers the next match, so these are searched more often than others.
TOGETHER = {
    "phones": "03-1234-5678 | 090-1234-5678|(03) 123-4567|+1 415 555 0132|+81 3 1234 5678|/|a|x12|tel|電話|call at |\n",
    "contacts": "a@b.co| |x.y@z.org|8.8.8.8|1.2.3.4|2001:db8::1|f:f:f:f:f:f:f:f|,|://|a|v1.2.3.4|git@github.com|;",
    "names": "pw=|password=|token:|\"|'| |ab1c|hunter2|secret|api_key|key|=|{|}|,|\n|は「|」|>|</|&|?",
    "settings": 'a1b2|=|pw|pwd|pass|key|;|\n| |passwd|"',
    "numbers": "4111111111111111|4111 1111 1111 1111|123456789018|457-55-5462|AT6119043002345732| |,|a|card |-|1234|00",
    "addresses": "://|a|b|:|@|c|/|?|&|=|token|pw|1| ",
    "keys": "iamkey=key|Aakey|Adbkey=",
    "more keys": "apikey:apikey=akey|AKIA",
    "records": '{"|password|":"|hunter2|",|token|":|null|}|email|a@b.co|phone|03-1234-5678|ip|8.8.8.8',
}
CHARACTERS = [
    string.printable,
    "0123456789 -.()+",
    "a@.:/",
    "=\"'\\ key",
    "[]:secretpii-a",
    "aA1_-",
    "1a:. ",
    "password=\"'\\ 1",
    "0123456789abcdef:",
    "4123456789 -",
    "GBDE8219 WST34567",
    "sk-ghp_AKIAxob0123456789ab",
    "パスワードは電話番号03-1「」あ",
    "０１２３－ー＠ａ．ｃｏ＝ｐｗ",
    "a@b.co1\u200b\u00ad\u0301",
    "a@b.co👩\u200d💻🇯",
]


def texts() -> dict[str, str]:
    """Every shape in full length, by a name to print."""
    dice = random.Random(SEED)
    pieces = dict.fromkeys([*SHAPES, *DENSE])
    every = [*pieces, *PREFIXES, *NAMED, *(token for _, token in TOKENS)]
    short = [piece for piece in every if len(piece) < 12]
    return {
        **{repr(piece)[:40]: filled(piece, SIZE) for piece in pieces},
        **{f"all prefixes {tail!r}": filled("".join(p + tail for p in PREFIXES), SIZE) for tail in ("", " ", "a.")},
        **{f"all names {n}": filled("".join(NAMED[n::2]), SIZE) for n in range(2)},
        **{f"mixture {n}": "".join(dice.choices(every, k=SIZE // 4))[:SIZE] for n in range(4)},
        **{f"mixture of short {n}": "".join(dice.choices(short, k=SIZE // 2))[:SIZE] for n in range(4)},
        **{f"characters {some[:16]!r}": "".join(dice.choices(some, k=SIZE)) for some in CHARACTERS},
        **{f"together: {name}": "".join(dice.choices(row.split("|"), k=SIZE))[:SIZE] for name, row in TOGETHER.items()},
    }


def main() -> None:
    """How many shapes there are, the usual time, and the slowest."""
    redactor = Redactor()
    costs = []
    for name, text in texts().items():
        half = text[: SIZE // 2]
        short, long = best_cpu(3, 1, lambda half=half: redactor.redact(half), lambda text=text: redactor.redact(text))  # type: ignore[misc]
        costs.append((long, long / short, name))
    costs.sort(reverse=True)
    seconds = [cost for cost, _, _ in costs]
    over = ", ".join(f"{sum(cost > limit for cost in seconds)} over {limit} s" for limit in (0.5, 1.0))
    growth = max(growth for cost, growth, _ in costs if cost > 0.1)
    print(f"{len(costs)} shapes of 1 MB: median {median(seconds):.2f} s, worst {seconds[0]:.2f} s, {over}")
    print(f"twice the text takes at most {growth:.1f} times the time (of those over 0.1 s)\n")
    print(f"the slowest{'1 MB, s':>53}{'growth':>20}")
    for cost, grown, name in costs[:WORST]:
        row(f"  {name}", f"{cost:.2f}", f"{grown:.2f}")


if __name__ == "__main__":
    main()
