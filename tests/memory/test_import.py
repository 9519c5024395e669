"""What is given to import_ and add_many and is no claim: one clear line, and nothing kept."""

from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import InputError
from scalepan.memory import Memory


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return Memory(tmp_path / "notes.duckdb")


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (None, "claims[1]: None is not a "),
        (3, "claims[1]: 3 is not a "),
        (["x"], "claims[1]: ['x'] is not a "),
        ({"text": 3}, "claim number 2: text: 3 is not text"),
        ({"text": "x", "kind": "\ud800"}, "kind: '\\ud800' has a character that is not legal here"),
    ],
)
def test_what_is_no_claim_is_named(memory: Memory, claim: Any, problem: str) -> None:
    with memory:
        for take in (memory.import_, memory.add_many):
            with pytest.raises(InputError) as caught:
                take([{"text": "good"}, claim])
            assert problem in str(caught.value)
        assert memory.stats().claims == 0


@pytest.mark.parametrize("claims", [None, 3, "notes.jsonl", b"x", {"text": "one alone"}])
def test_what_is_no_list_is_not_taken_apart(memory: Memory, claims: Any) -> None:
    with memory, pytest.raises(InputError, match="is not a list of claims, as export gives them"):
        memory.import_(claims)


def test_a_key_that_is_no_text_of_any_encoding_is_written_out(memory: Memory) -> None:
    with memory, pytest.raises(InputError) as caught:
        memory.add_many([{"text": "x", "\ud800": 1}])
    assert str(caught.value).isascii()


@pytest.mark.parametrize("policy", [{"value": {"\ud800": 1}}, {"embed": {"model": 3}}, {"value": {"gate": 10**400}}])
def test_a_policy_that_does_not_fit_is_told_when_the_memory_is_made(tmp_path: Path, policy: Any) -> None:
    with pytest.raises(InputError):
        Memory(tmp_path / "notes.duckdb", policy=policy)
