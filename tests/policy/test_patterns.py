"""Regular expressions of a user's own: bombs are refused when the policy is loaded, not when they go off."""

import pytest

from scalepan.errors import PolicyError
from scalepan.policy import load_policy
from scalepan.policy.patterns import pattern_fault, written_out


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(?R)", "calls itself"),
        ("a(?R)?b", "calls itself"),
        (r"(?<x>a(?&x)?)", "calls itself"),
        (r"(a|(?1)b)", "calls itself"),
        (r"\\(?R)", "calls itself"),
        ("|".join(f"w{n}" for n in range(650_000)), "characters; the limit is 10,000"),
        ("(((((a{1000}){1000}){1000}){1000}){1000})", "expands to more than 100,000 items"),
        ("[a]{9999999999999}", "expands to more than"),
        ("(" * 3000 + "a" + ")" * 3000, "is not a regular expression"),
        ("(", "is not a regular expression"),
        ("a*", "matches the empty text"),
    ],
)
def test_a_pattern_that_would_hang_is_one_line(pattern: str, fault: str) -> None:
    with pytest.raises(PolicyError, match=fault) as caught:
        load_policy(env={}, overrides={"redact": {"rules": [{"name": "x", "pattern": pattern}]}})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("pattern", [r"TCK-[0-9]{6}", r"(?i)badge \d{4}(?:-\d{4}){3}", r"\(?R\)", "a{2,}"])
def test_what_people_write_is_fine(pattern: str) -> None:
    assert pattern_fault(pattern) == ""


def test_a_class_is_one_item() -> None:
    assert written_out("[]{5}a]{3}") == 3
    assert written_out(r"[^\]]{4}x") == 5
