"""Secrets that a name, a header, a command, a column or a sentence announces, whatever their characters."""

import base64

import pytest

from bench.redact_shapes import KEYS, PASSWORDS, PINS, STAND_INS, frames
from scalepan.redact import Redacted, redact
from tests.redact.fakes import HEX, some

LETTERS = "qwkz" + "vbxn" + "mptr"
PASSWORD = "Xk29" + "dk3pQ"
TOKEN = some(24)
# In these frames a value of letters only cannot be told from a word.
LESS_CLEAR = ("login with ann / password ◆", "use the password ◆ to log in", "pwd ◆\n")


@pytest.mark.parametrize("frame", frames(PASSWORDS))
def test_a_password(frame: str) -> None:
    value = PASSWORD if frame in LESS_CLEAR else LETTERS
    once = redact(frame.replace("◆", value)).text
    assert value not in once
    assert redact(once) == Redacted(once)


@pytest.mark.parametrize("frame", frames(KEYS))
@pytest.mark.parametrize("value", [TOKEN, some(32, HEX)])
def test_a_key(frame: str, value: str) -> None:
    if frame.startswith("-b "):
        frame = f"curl {frame} https://x.io"
    once = redact(frame.replace("◆", value)).text
    assert value not in once
    assert redact(once) == Redacted(once)


@pytest.mark.parametrize("frame", frames(PINS))
def test_a_few_digits(frame: str) -> None:
    assert "482913" not in redact(frame.replace("◆", "482913")).text


@pytest.mark.parametrize("text", frames(STAND_INS))
def test_stand_ins_stay(text: str) -> None:
    assert redact(text) == Redacted(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('api_key = "abcdefghijklmnop"', 'api_key = "[secret:api-key]"'),
        ("SECRET_KEY='abcdefghijklm'", "SECRET_KEY='[secret:api-key]'"),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [secret:bearer-token]"),
        ("tool --password x1", "tool --password [secret:password]"),
        ("tool --password swordfish go", "tool --password [secret:password] go"),
        ("Cookie: theme=dark; session=" + TOKEN, "Cookie: theme=dark; session=[secret:cookie]"),
        (f"Set-Cookie: sid={TOKEN}; Path=/; HttpOnly", "Set-Cookie: sid=[secret:cookie]; Path=/; HttpOnly"),
        ("db:5432:app:ann:swordfish\n", "db:5432:app:ann:[secret:password]\n"),
        (
            "user,password\nann,swordfish\nbob,dragonfly\n",
            "user,password\nann,[secret:password]\nbob,[secret:password]\n",
        ),
        ("| a | token |\n|---|---|\n| x | " + TOKEN + " |\n", "| a | token |\n|---|---|\n| x | [secret:token] |\n"),
        ("the password is swordfish.", "the password is [secret:password]."),
        ("4111.1111.1111.1111", "[pii:card]"),
        ("$2b$12$" + "a1" * 26 + "b", "[secret:password-hash]"),
        (
            '{"name": "DB_PASSWORD", "value": "swordfish"}',
            '{"name": "DB_PASSWORD", "value": "[secret:password]"}',
        ),
    ],
)
def test_the_name_stays_and_the_value_goes(text: str, clean: str) -> None:
    assert redact(text).text == clean
    assert redact(clean) == Redacted(clean)


def test_a_pair_in_base64() -> None:
    coded = base64.b64encode(b"ann:" + PASSWORD.encode()).decode()
    assert redact(f"auth {coded} done").text == "auth [secret:basic-auth] done"
    assert redact(f'{{"auths": {{"r.io": {{"auth": "{coded}"}}}}}}').text.count("[secret:") == 1


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "The password is stored in the database.",
        "the key is under the mat",
        "tokens: 4096",
        "password\n\nThe next chapter",
        "user,password,host = read(config)\na,b,c = 1,2,3\n",
        "def password(self) -> str | None:\n    return None\n",
        "significant results of authors, p. 12: spinal",
        "find / -name mysql -print",
        "We pass `x=1` along",
        "secret = r'([a-z0-9]{64})'",
        'PASSED = "Passed"',
        "theme: Cookie jar, path=/home",
        "token = tokenizer.next_token()",
        "private_key: ed25519.Ed25519PrivateKey,",
    ],
)
def test_words_and_code_stay(text: str) -> None:
    assert redact(text) == Redacted(text)
