"""The small language of invariants: what is true, what is false, and what cannot be said and so denies."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import PolicyError
from scalepan.policy import Layer, resolve
from scalepan.policy.invariants import LONGEST, InvariantError, holds, parse

FACTS: dict[str, Any] = {
    "n": 3,
    "x": 2.5,
    "name": "ann",
    "yes": True,
    "no": False,
    "nothing": None,
    "list": ["ann", "bob", 3],
    "user.role": "admin",
    "名前": "花子",
}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("true", True),
        ("false", False),
        ("yes", True),
        ("no", False),
        ("!no", True),
        ("!!yes", True),
        ("n == 3", True),
        ("n == 3.0", True),
        ("n != 3", False),
        ("n > 2", True),
        ("n >= 3", True),
        ("n < 3", False),
        ("n <= 3", True),
        ("x > 2", True),
        ("n > -1", True),
        ("name == 'ann'", True),
        ('name == "ann"', True),
        ("name == 'Ann'", False),
        ("name < 'bob'", True),
        ("name in ['ann', 'bob']", True),
        ("name in list", True),
        ("'eve' in list", False),
        ("3 in list", True),
        ("name in []", False),
        ("'nn' in name", True),
        ("user.role == 'admin'", True),
        ("nothing == null", True),
        ("name != null", True),
        ("name == 'it' || name == \"it's\"", False),
        # && binds tighter than ||, ! tighter than both, parentheses over all.
        ("yes || no && no", True),
        ("(yes || no) && no", False),
        ("!no && yes", True),
        ("!(no || yes)", False),
        ("no && no || yes", True),
        ("!n == 3", False),
        ("((((yes))))", True),
        ("  yes&&!no  ", True),
        # Of what is not known, only that can be asked.
        ("unknown == null", True),
        ("null != unknown", False),
        ("unknown != null && unknown", False),
        ("unknown == null || unknown > 3", True),
        # What is not reached is not evaluated.
        ("yes || n", True),
        ("no && n", False),
        ("yes || unknown", True),
    ],
)
def test_what_holds(rule: str, expected: bool) -> None:
    assert holds(rule, FACTS) is expected


@pytest.mark.parametrize(
    "rule",
    [
        "n",  # a number is not true or false
        "name",
        "nothing",
        "list",
        "'x'",
        "[]",
        "!n",
        "yes && name",
        "n || yes",
        "n > 'x'",
        "name > 2",
        "nothing < 1",
        "yes > no",  # truth has no order
        "list < list",
        "unknown",
        "!unknown",
        "unknown == 'x'",
        "unknown != 'x'",
        "unknown == false",
        "unknown.deep",
        "unknown in ['x']",
        "nothing == 'x'",  # known to be nothing is as good as not known
        "unknown || yes",
        "unknown > 1",
        "unknown <= 1",
        "n in n",
        "name in unknown",
        "3 in name",
        "name in nothing",
    ],
)
def test_what_cannot_be_evaluated(rule: str) -> None:
    with pytest.raises(InvariantError):
        holds(rule, FACTS)


@pytest.mark.parametrize("rule", ["unknown == 0", "unknown == 0.0", "no == 0", "yes == 1", "unknown in [0, 1]"])
def test_false_is_not_nought(rule: str) -> None:
    """`failures == 0` must not hold because nobody said how many there were: fail closed."""
    with suppress(InvariantError):  # as good: it denies
        assert not holds(rule, FACTS)


SYNTAX = [
    "",
    "   ",
    "n ==",
    "== 3",
    "n = 3",
    "n === 3",
    "n & yes",
    "n | yes",
    "yes and no",
    "yes &&",
    "&& yes",
    "(yes",
    "yes)",
    "[yes",
    "name in ['a' 'b']",
    "name in [,]",
    "'open",
    '"open',
    "1 < 2 < 3",
    "yes no",
    "yes, no",
    "n + 1 == 4",
    "f(x)",
    "__import__('os')",
    "in",
    "in in in",
    "name not in list",
    "!",
    "$x",
    "a;b",
]


@pytest.mark.parametrize("rule", [*SYNTAX, "(" * 400 + "yes" + ")" * 400, "yes || " * 200 + "yes"])
def test_syntax_errors_are_named_when_the_policy_is_loaded(rule: str) -> None:
    with pytest.raises(PolicyError, match="must_hold") as caught:
        resolve([Layer("scalepan.yaml", {"boundary": {"invariants": {"must_hold": rule}}}, source="named")])
    assert caught.value.file == "scalepan.yaml"
    assert "boundary" in str(caught.value)


@pytest.mark.parametrize("rule", SYNTAX)
def test_syntax_errors_deny_at_the_call_too(rule: str) -> None:
    with pytest.raises(InvariantError):
        holds(rule, FACTS)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("acton == 'forget'", r"there is no 'acton'; did you mean 'action'\?; names are action, tenant,"),
        ("mfa", r"there is no 'mfa'.*facts\.NAME"),
        ("action == 'search' || mfa", "there is no 'mfa'"),
        ("facts", "there is no 'facts'"),
        ("facts.", r"there is no 'facts\.'"),
        ("claim.kinds == 'fact'", r"there is no 'claim\.kinds'; did you mean 'claim\.kind'"),
        ("claim.text == 'x'", r"there is no 'claim\.text'"),
        ("claim", "there is no 'claim'"),
        ("tenant in [claim.kind]", "cannot hold an attribute|with a value"),
        ("claim.kind", "not true or false"),
        ("!claim.kind", "not true or false"),
        ("claim.kind == claim.scope", "with a value, not with another"),
        ("claim.kind in claim.entities", "with a value, not with another"),
        ("(claim.kind == 'fact') == true", "with a value"),
        ("claim.entities == ['Billing']", "'Billing' in claim.entities"),
        ("claim.entities in ['Billing']", "'Billing' in claim.entities"),
        ("3 in claim.age_days", "claim.age_days < 30"),
        ("[claim.kind]", "cannot hold"),
    ],
)
def test_a_name_that_does_not_exist_is_an_error_when_the_policy_is_loaded(rule: str, problem: str) -> None:
    """Contract memory.64. A rule with a typo must not look as if it guarded something."""
    with pytest.raises(PolicyError, match=problem) as caught:
        resolve([Layer("scalepan.yaml", {"boundary": {"invariants": {"must_hold": rule}}}, source="named")])
    assert "must_hold" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_rule_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvariantError, match="1,001 characters is too long; the limit is 1,000"):
        parse("x" * (LONGEST + 1))


@given(st.text(alphabet="nyxo '\"()[]!=<>&|,.0123456789-in\n\t名", max_size=40))
def test_any_text_is_a_truth_value_or_an_invariant_error(rule: str) -> None:
    with suppress(InvariantError):
        assert holds(rule, FACTS) in (True, False)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["n", "name", "list", "yes"]), values),
    st.sampled_from(["n > 3", "name == 'ann'", "name in list", "!yes", "yes && n < 1 || name != null", "n in list"]),
)
def test_any_facts_give_a_truth_value_or_an_invariant_error(facts: dict[str, Any], rule: str) -> None:
    with suppress(InvariantError):
        assert holds(rule, facts) in (True, False)


# Truth tables against Python's own.

names = st.sampled_from(["a", "b", "c"])
rules: st.SearchStrategy[str] = st.recursive(
    names,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} && {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} || {pair[1]})"),
        inner.map(lambda one: f"!{one}"),
    ),
    max_leaves=8,
)


@given(rules, st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_and_or_not_are_pythons(rule: str, truth: tuple[bool, bool, bool]) -> None:
    facts = dict(zip("abc", truth, strict=True))
    python = rule.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    assert holds(rule, facts) is eval(python, {}, dict(facts))
