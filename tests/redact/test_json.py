"""JSON stays valid after any cut, as a document and line by line; escapes hide nothing."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalepan.policy.redact import Redact, UserRule
from scalepan.redact import Redacted, Redactor, redact
from scalepan.redact.jsontext import documents
from tests.redact.fakes import aws_key, pem
from tests.redact.test_properties import PIECES

KEYS = ["password", "token", "api_key", "name", "value", "phone", "card", "user", "x", "secret", "Authorization", "pin"]
VALUES = ["hunter2", "DB_PASSWORD", "Bearer a1b2c3d4e5f6a7b8", "p: hunter2", '{"password": 12345678}', 'say "hunter2"']
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([12345678, 4111111111111111, 4.5, 1e300, 123456789018, 4821]),
    st.sampled_from([*VALUES, *PIECES]),
    st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    st.text(max_size=8),
)
documents_of = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*KEYS, *PIECES[:4]]), inner, max_size=4),
        inner.map(lambda value: json.dumps(value)),
    ),
    max_leaves=12,
)
forms = st.sampled_from([{}, {"ensure_ascii": False}, {"indent": 2}, {"separators": (",", ":")}])
REDACTORS = [
    Redactor(),
    Redactor(
        Redact(rules=[UserRule(name="wide", pattern=r"(?s)password.*"), UserRule(name="quote", pattern=r'["\\{]+')])
    ),
]


def shape(value: Any) -> Any:
    """The part of a document that must stay: its structure, but not the names of its keys."""
    if isinstance(value, dict):
        return [shape(one) for one in value.values()]
    return [shape(one) for one in value] if isinstance(value, list) else None


@settings(max_examples=150)
@given(st.one_of(st.lists(documents_of, max_size=4), st.dictionaries(st.sampled_from(KEYS), documents_of)), forms)
@example({"password": 12345678, "x": [1, 4111111111111111, 2.5]}, {})
@example({"x": '{"password": 12345678, "pin": "1"}', "token": "a\\u0041b1c2d3e4f5"}, {})
@example([json.dumps({"a": json.dumps({"password": 12345678})})], {})
@example({"password": 'a"b\\c1é😀'}, {})
@example({"password": '[4111111111111111, "hunter2"]'}, {})
def test_json_stays_json(value: Any, form: dict[str, Any]) -> None:
    text = json.dumps(value, **form)
    for redactor in REDACTORS:
        json.loads(redactor.redact(text).text)
    once = redact(text).text
    assert redact(once) == Redacted(once)
    # Two keys that are secrets become one placeholder, so pairs are compared instead of dicts.
    pairs = json.loads(once, object_pairs_hook=lambda found: [inner for _, inner in found])
    assert shape(pairs) == shape(value) or len(set(text.split('"'))) < len(text.split('"'))


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(st.dictionaries(st.sampled_from(KEYS), scalars), st.just("no json: password=hunter2")),
        min_size=1,
        max_size=5,
    )
)
def test_each_line_stays_json(rows: list[Any]) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    lines = [line.replace("\n", " ") for line in lines]
    clean = redact("\n".join(lines)).text.split("\n")
    for before, behind in zip(lines, clean, strict=True):
        if before.startswith("{"):
            json.loads(behind)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('{"password": 12345678, "n": 12}', '{"password": "[secret:password]", "n": 12}'),
        ('{"card": 4111111111111111}', '{"card": "[pii:card]"}'),
        ('[{"pin": 4821}]', '[{"pin": "[secret:password]"}]'),
        ('{"m": "mail ann\\u0040example.com now"}', '{"m": "mail [pii:email] now"}'),
        ('{"p": "\\u0070assword=hunter2\\n"}', '{"p": "\\u0070assword=[secret:password]\\n"}'),
        ('{"a": "{\\"password\\": 12345678}"}', '{"a": "{\\"password\\": \\"[secret:password]\\"}"}'),
        (
            json.dumps({"a": json.dumps({"b": json.dumps({"pin": 4821})})}),
            json.dumps({"a": json.dumps({"b": json.dumps({"pin": "[secret:password]"})})}),
        ),
        (json.dumps({"key": pem()}), '{"key": "[secret:private-key]"}'),
        (f'{{"{aws_key()}": 1}}', '{"[secret:aws-key]": 1}'),
        ('{"password": null, "token": true}', '{"password": null, "token": true}'),
    ],
)
def test_examples(text: str, clean: str) -> None:
    assert redact(text).text == clean
    assert redact(clean) == Redacted(clean)
    json.loads(clean)


def test_outside_json_a_number_gets_no_quotes() -> None:
    assert redact("password: 12345678").text == "password: [secret:password]"


def test_a_document_with_line_breaks_is_not_jsonl() -> None:
    assert documents('{"a":\n[1]\n}') == [(0, 11)]
    assert documents('x\n{"a": 1}\n[') == [(2, 10)]
