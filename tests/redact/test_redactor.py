"""The redactor as a whole: which match wins, what a report contains, and redaction of its own output."""

import logging

import pytest

from scalepan.errors import InputError, PolicyError
from scalepan.policy.redact import CATEGORIES, Redact, UserRule
from scalepan.redact import Redactor, findings, redact
from scalepan.redact.redactor import RULES
from tests.redact.fakes import TOKENS, aws_key, jwt, pem, some


def test_every_kind_of_the_policy_has_a_rule_and_every_rule_a_kind() -> None:
    assert frozenset().union(*(rule.kinds for rule in RULES)) == set(CATEGORIES)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # two matches at the same position: the more specific rule
        (f"api_key = '{aws_key()}'", "api_key = '[secret:aws-key]'"),
        (f"Authorization: Bearer {jwt()}", "Authorization: Bearer [secret:jwt]"),
        # one inside the other: the longer
        (f'password = "x{aws_key()}x-{aws_key()}"', 'password = "[secret:password]"'),
        (f'{{"private_key": "{pem()}"}}', '{"private_key": "[secret:private-key]"}'),
        # a password is not the name of an e-mail address
        ("https://ann:s3cret@example.com/", "https://ann:[secret:url-password]@example.com/"),
        # a secret beats personal data, however long: pii may be kept by policy, a secret never
        ("password=ann.smith1@example.com", "password=[secret:password]"),
    ],
)
def test_the_longer_of_two_matches_gives_the_kind(text: str, clean: str) -> None:
    assert redact(text).text == clean


def test_overlapping_matches_are_cut_as_one() -> None:
    rules = [UserRule(name="one", pattern="abcdef"), UserRule(name="two", pattern="defg")]
    assert redact("xabcdefgx", Redact(rules=rules)).text == "x[secret:one]x"


def test_a_placeholder_is_never_redacted_again() -> None:
    for text in ("password=[secret:password]", "api_key: '[secret:aws-key]'", "mail [pii:email]", "[secret:a-b-c-1]"):
        assert redact(text) == redact(redact(text).text)
        assert redact(text).findings == ()


@pytest.mark.parametrize("kind_and_token", TOKENS, ids=lambda pair: pair[0])
def test_twice_is_once(kind_and_token: tuple[str, str]) -> None:
    token = kind_and_token[1]
    for frame in ("{}", "password={}", "a{}b", "{}{}", "x@{}.com", "{}@x.io", "+1 {} 555", "Bearer {}", "://a:{}@b"):
        once = redact(frame.replace("{}", token)).text
        assert redact(once).text == once


def test_a_report_has_kind_position_and_hash_but_not_the_value(caplog: pytest.LogCaptureFixture) -> None:
    password = some(12)
    with caplog.at_level(logging.DEBUG):
        done = redact(f"user=ann password={password}")
    (found,) = done.findings
    assert (found.kind, found.category, found.start, found.end) == ("password", "secret", 18, 30)
    assert found.placeholder == "[secret:password]"
    for shown in (repr(found), repr(done), str(done), caplog.text, found.hash):
        assert password not in shown


def test_hashes_are_equal_for_equal_values_under_one_key_only() -> None:
    one, two, other = findings("password=hunter2, password=hunter2, password=hunter3")
    assert one.hash == two.hash != other.hash
    (here,) = Redactor(key=b"here").findings("password=hunter2")
    (there,) = Redactor(key=b"there").findings("password=hunter2")
    assert len({one.hash, here.hash, there.hash}) == 3
    assert Redactor(key=b"here").findings("password=hunter2") == (here,)


def test_only_some_kinds() -> None:
    text = "ann@example.com 03-1234-5678 password=hunter2"
    assert Redactor(only=["secret"]).redact(text).text == "ann@example.com 03-1234-5678 password=[secret:password]"
    assert Redactor(only=["email"]).redact(text).text == "[pii:email] 03-1234-5678 password=hunter2"
    with pytest.raises(InputError, match="no kind 'emial'; did you mean 'email'"):
        Redactor(only=["emial"])


def test_kinds_that_the_policy_switches_off_stay() -> None:
    text = "ann@example.com 8.8.8.8"
    assert redact(text, Redact(kinds={"ip-address": False})).text == "[pii:email] 8.8.8.8"


def test_user_rules() -> None:
    rules = [
        UserRule(name="employee", category="pii", pattern=r"E-\d{5}"),
        UserRule(name="project", pattern=r"codename (?<value>\w+)"),
    ]
    text = "Ｅ－１２３４５ works on codename bluebird"
    assert redact(text, Redact(rules=rules)).text == "[pii:employee] works on codename [secret:project]"


def test_after_a_timeout_nothing_is_returned() -> None:
    slow = Redact(rules=[UserRule(name="slow", pattern="(a|aa)+$")], timeout_ms=50)
    with pytest.raises(PolicyError, match=r"redact\.rules: rule 'slow' took longer than 50 ms") as caught:
        redact("a" * 40_000 + "b", slow)
    assert "aaaa" not in str(caught.value)


def test_a_rule_that_matches_its_own_placeholders_cuts_the_whole_text() -> None:
    greedy = Redact(rules=[UserRule(name="greedy", pattern="(?<!x)x")])
    once = redact("x" * 50, greedy).text
    assert once == "[secret:greedy]"
    assert redact(once, greedy).text == once


def test_an_empty_text_has_nothing() -> None:
    assert redact("").text == ""
    assert redact("").findings == ()
