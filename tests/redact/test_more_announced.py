"""Secrets in shapes that were missed when they were first tried, and text that was taken for a secret."""

import pytest

from scalepan.redact import Redacted, redact
from tests.redact.fakes import HEX, some

PASSWORD = "Xk29" + "dk3pQ"
TOKEN = some(32)


@pytest.mark.parametrize(
    "frame",
    [
        "The password for user root has been set to ◆",
        "[Note] A temporary password is generated for root@localhost: ◆",
        "the password's ◆",
        "password -- ◆",
        "Password (case sensitive): ◆",
        "password for the router – ◆",
        "Here is the password you asked for:\n◆",
        "credentials are ann / ◆",
        "パスワード（◆）で入れます",
        "パスワードを「◆」に設定してください。",
        'db_password = """◆"""',
        "db_password: !!str ◆",
        "ldap.bindpw: ◆",
        "  auth_pass ◆\n",
        "masterauth ◆",
        "enable secret 0 ◆",
        "username admin password 7 ◆",
        "snmp-server community ◆ RO",
        "net use Z: \\\\srv\\share /user:ann ◆",
        "net user ann ◆ /add",
        "useradd -p ◆ ann",
        "twine upload -u __token__ -p ◆ dist/*",
        "xfreerdp /u:ann /p:◆ /v:host",
        "sqlplus scott/◆@ORCL",
        "lftp -u ann,◆ sftp://x.io",
        "echo ◆ | passwd --stdin ann",
        "cryptsetup luksOpen /dev/sda1 c <<< ◆",
        'mysqli_connect("localhost", "root", "◆", "app");',
        "new PDO('mysql:host=db;dbname=x', 'root', '◆');",
        "INSERT INTO users (name, password) VALUES ('ann', '◆');",
        "insert into users (id, `password`, at) values (1, 'hunter2', now()), (2, md5('◆'), null)",
    ],
)
def test_a_password(frame: str) -> None:
    once = redact(frame.replace("◆", PASSWORD)).text
    assert PASSWORD not in once
    assert redact(once) == Redacted(once)


@pytest.mark.parametrize(
    "frame",
    [
        "Here's the token you asked for:\n◆",
        "API Key (production): ◆",
        "API key for staging – ◆",
        "vault login ◆",
        "gh auth login --with-token <<< ◆",
        "wrangler secret put NAME <<< '◆'",
        "sonar-scanner -Dsonar.login=◆",
        "::add-mask::◆",
        "git remote set-url origin https://◆@github.com/acme/app.git",
        'jwt.sign(payload, "◆")',
        'jwt.encode({"sub": 1}, key="◆", algorithm="HS256")',
        'hmac.new(b"◆", message, sha256)',
        "crypto.createHmac('sha256', '◆')",
        "hash_hmac('sha256', $data, '◆')",
        "cloudant_key = ◆",
    ],
)
def test_a_key(frame: str) -> None:
    value = some(64, HEX) if frame.startswith("cloudant") else TOKEN
    once = redact(frame.replace("◆", value)).text
    assert value not in once
    assert redact(once) == Redacted(once)


def test_every_row_of_an_insert() -> None:
    text = "INSERT INTO t (name, token) VALUES ('a', '{}'), ('b', NULL), ('c', '{}');"
    one, two = some(24), some(32, HEX)
    assert redact(text.format(one, two)).text == text.format("[secret:token]", "[secret:token]")


@pytest.mark.parametrize(
    "text",
    [
        "modes = {'bandpass': 'bandpass', 'pass': 'bandpass'}",
        "firwin(taps, pass_zero='lowpass')",
        "where the response is -gpass dB.",
        'key = f"{repr(batch)}-{uuid4().hex}"',
        "def generate_private_key(self) -> DHPrivateKey:",
        "MLKEM768X25519PrivateKey = openssl.hpke.MLKEM768X25519PrivateKey",
        'runtime.__text_signature__ == "($self, /, *args, **kwargs)"',
        "Signature: " + "8a477f597d28d172" + "789f06886806bc55",
        "names = ['x_csrftoken', 'x-csrftoken']",
        "words = ['packoffset', 'pass', 'pixelfragment']",
        "types = ['Secret', 'SecretStr', 'SecretBytes']",
        "    pass\n\n    @with_64bit_maxval_limit(3)\n",
        "a forward pass:\n\n* **Bug-1** of two",
        "see the signature https://github.com/a/b/blob/" + some(40, HEX) + "/src/polars/datatypes/classes.py#L450-L454",
        "the .net user interface design",
        "the vault login page",
        "script=setup.sh\\nPWD=/\\nHOME=/root\\nSHLVL=0",
        "find / -type d -name mysql -print -prune",
        "jwt.decode(token, 'secret', algorithms=['HS256'])",
        "INSERT INTO settings (key, value) VALUES ('theme', 'dark')",
        "ssh://" + "687fb701" + "029421ae" + "5549d998@ssh.jobs.example",
    ],
)
def test_words_and_code_stay(text: str) -> None:
    assert redact(text) == Redacted(text)
