"""Secrets: every provider's token, and passwords in the formats that people use."""

import pytest

from scalepan.redact import findings, redact
from tests.redact.fakes import BASE64, HEX, LETTERS, TOKENS, aws_key, jwt, pem, some, uuid

PASSWORD = "Xk29" + "!dk3"


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[kind for kind, _ in TOKENS])
def test_a_whole_token_is_cut_wherever_it_is(kind: str, token: str) -> None:
    for frame in ("{}", "use {} here", '"{}"', "x={};", "`{}`", "({}).", "キーは{}です", '{{"a":"b\\n{}"}}'):
        assert redact(frame.format(token)).text == frame.format(f"[secret:{kind}]")


@pytest.mark.parametrize(
    "text",
    [
        "password={}",
        "password = '{}'",
        'password: "{}"',
        "DB_PASSWORD={}",
        'export MYSQL_PWD="{}"',
        '{{"user": "ann", "password": "{}"}}',
        '{{"password" : "{}", "x": 1}}',
        '"{{\\"password\\": \\"{}\\"}}"',
        "user: ann\npassword: {}\n",
        "password:\n  {}\n",
        "spring.datasource.password={}",
        "dbPassword = `{}`;",
        "my_password := '{}'",
        "'passwd' => '{}',",
        'config["password"] = "{}"',
        'if password == "{}":',
        'var p = Password(@"{}");',
        "<password>{}</password>",
        "mysql --password={} -h db",
        "tool --db-password {} run",
        "machine db login ann password {}",
        "Server=db;User Id=sa;Password={};Encrypt=yes",
        "https://x.io/login?user=a&password={}&next=1",
        "curl -u ann:{} https://x.io",
        "sshpass -p {} ssh host",
        "My password is {}.",
        "パスワードは {} です",
        "パスワード：{}",
        "パスワードは「{}」です",
        "ＰＡＳＳＷＯＲＤ＝{}",
    ],
)
def test_a_password_is_cut_and_its_name_stays(text: str) -> None:
    assert redact(text.format(PASSWORD)).text == text.format("[secret:password]")


@pytest.mark.parametrize("password", ["hunter2", "12345678", "P@ss(w)rd", "p$a%b^c&d", "ゆき1234", 'a\\"b\\"c1'])
def test_quoted_passwords_of_all_sorts_are_cut(password: str) -> None:
    assert redact(f'{{"password": "{password}"}}').text == '{"password": "[secret:password]"}'


def test_a_passphrase_may_have_spaces() -> None:
    assert redact('passphrase = "correct horse battery staple"').text == 'passphrase = "[secret:password]"'


def test_a_bare_word_is_a_password_in_settings_and_a_variable_in_code() -> None:
    assert redact("DB_PASSWORD=swordfish").text == "DB_PASSWORD=[secret:password]"
    assert redact("connect(password=swordfish)").findings == ()


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("api_key = '{}'", "api-key", some(32, HEX)),
        ("X-API-Key: {}", "api-key", some(24)),
        ("API_KEY={}", "api-key", uuid()),
        ("my api key is {}", "api-key", some(20)),
        ("the api key {} works", "api-key", some(40, HEX)),
        ("?apikey={}&q=1", "api-key", some(32)),
        ('"access_token": "{}"', "token", some(40)),
        ("auth_token: {}", "token", some(20)),
        ('client_secret="{}"', "secret", some(20)),
        ("SECRET_KEY={}", "api-key", some(50)),
        ('aws_secret_access_key = "{}"', "aws-secret-key", some(40, BASE64)),
        ('aws.connect(id, "{}")', "aws-secret-key", some(40, BASE64)),
        ("AccountName=x;AccountKey={}==;EndpointSuffix=y", "azure-key", some(86, BASE64)),
        ("//registry.npmjs.org/:_authToken={}", "npm-token", uuid()),
        ("Authorization: Bearer {}", "bearer-token", some(40)),
        ("Authorization: Token {}", "bearer-token", some(40)),
        ("Authorization: Basic {}", "basic-auth", "dXNlcjpwYX" + "NzMQ=="),
        ("https://hooks.slack.com/services/{}", "slack-webhook", "T" + some(8) + "/B" + some(8) + "/" + some(24)),
    ],
)
def test_a_key_is_recognized_by_its_name(text: str, kind: str, value: str) -> None:
    placeholder = f"[secret:{kind}]"
    assert redact(text.format(value)).text in (text.format(placeholder), text.replace("==", "").format(placeholder))


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("postgres://ann:{}@db.internal:5432/app", "postgres://ann:[secret:url-password]@db.internal:5432/app"),
        ("mongodb+srv://ann:{}@c0.mongodb.net/?x=1", "mongodb+srv://ann:[secret:url-password]@c0.mongodb.net/?x=1"),
        ("redis://:{}@cache:6379/0", "redis://:[secret:url-password]@cache:6379/0"),
        ("https://ann:{}@x.io/path@y", "https://ann:[secret:url-password]@x.io/path@y"),
        ("amqp://u:{}@h and ftp://u:{}@h", "amqp://u:[secret:url-password]@h and ftp://u:[secret:url-password]@h"),
    ],
)
@pytest.mark.parametrize("password", ["s3cret", "p@ss", "pass", "a:b", "%40x"])
def test_the_password_in_a_url_is_cut_and_the_url_stays(url: str, clean: str, password: str) -> None:
    assert redact(url.format(password, password)).text == clean


@pytest.mark.parametrize(
    "text",
    [
        # stand-ins
        "password=changeme",
        "API_KEY=your-key-here",
        "API_KEY=<your_api_key>",
        'api_key: "YOUR_API_KEY"',
        "token: ${TOKEN}",
        "token: $TOKEN",
        "token = {{ secrets.token }}",
        "password: ********",
        'password = "xxxxxxxx"',
        "secret: REDACTED",
        "password=%DB_PASSWORD%",
        "postgres://user:${PASSWORD}@host/db",
        "postgres://user:<password>@host/db",
        "https://user:***@host/",
        # references to a secret
        'key = os.environ["API_KEY"]',
        'api_key = os.getenv("OPENAI_API_KEY")',
        "token = process.env.GITHUB_TOKEN",
        "password = getpass.getpass()",
        "password=self.password",
        "client_secret = settings.CLIENT_SECRET",
        "PASSWORD_FILE=/run/secrets/db_password1",
        "password: !vault |",
        "secretName: my-app-tls1",
        'get_secret("prod/db-password1")',
        "token: vault:secret/data/x1#token",
        # words about a secret
        "Password: required",
        "password: string",
        "The password is wrong",
        "The password is case-sensitive.",
        "secret: the garden behind the house",
        'password = "Enter your password"',
        '"password": null, "token": true',
        "def login(user: str, password: str) -> Token:",
        "tokens: 4096, max_tokens=100000",
        "token_count: 12345678",
        "tokenizer = 'bert-base-uncased-2018'",
        "keyboard: qwerty1234",
        "sort_key = 'created_at_2024'",
        "primary key: 9f86d081884c7d65",
        "pass: 1234, fail: 5678",
        "bypass=abc12345",
        "password:\nuser2: ann\n",
        "Basic understanding of things",
        "a bearer of news",
    ],
)
def test_stand_ins_and_references_stay(text: str) -> None:
    assert redact(text).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "sha256:" + "9f86d081" * 8,
        "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "sk-fading-circle-animation-delay",
        "class SKProductsRequestDelegateImplementation",
        "task-0123456789abcdefghij",
        "AKIAtooshort",
        "AKIA" + "A" * 17,
        "the ghp_ prefix",
        "eyJhbGciOiJIUzI1NiJ9",
        "-----BEGIN PUBLIC KEY-----\nMFww\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "src/components/authentication/password_reset_form.tsx",
        "xoxo, Ann",
    ],
)
def test_lookalikes_of_tokens_stay(text: str) -> None:
    assert redact(text).findings == ()


def test_a_private_key_without_its_last_line_is_cut_to_the_end_of_its_base64() -> None:
    text = "key:\n" + pem().rpartition("\n")[0] + "\n\nEND of story: 42"
    assert redact(text).text.startswith("key:\n[secret:private-key]")
    assert "42" in redact(text).text


def test_a_private_key_in_a_string_with_escaped_lines() -> None:
    text = '{"key": "' + pem().replace("\n", "\\n") + '\\n"}'
    assert redact(text).text == '{"key": "[secret:private-key]\\n"}'


def test_several_private_keys_are_several_findings() -> None:
    assert [found.kind for found in findings(f"{pem()}\n{pem('EC ')}")] == ["private-key", "private-key"]


def test_full_width_and_invisible_characters_do_not_hide_a_key() -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in aws_key())
    assert redact(f"鍵：{wide}。").text == "鍵：[secret:aws-key]。"
    token = jwt()
    assert redact(token[:20] + "\u200b" + token[20:]).text == "[secret:jwt]"


def test_a_token_of_any_length_is_cut_whole() -> None:
    token = "ghp_" + some(300, LETTERS)
    assert redact(f"a {token} b").text == "a [secret:github-token] b"


@pytest.mark.parametrize("names", range(60, 200))
def test_a_long_run_of_names_hides_no_secret_in_it_or_after_it(names: int) -> None:
    run = "token=" * names
    assert redact(f'{run}password="hunter" {run}').text == f'{run}password="[secret:password]" {run}'
    assert "a1b2c3d4e5f6a7b8" not in redact(f"{run[:-1]} = a1b2c3d4e5f6a7b8").text
