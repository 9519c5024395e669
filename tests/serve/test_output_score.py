"""output_score at the doors: the kind of case chooses, and what broke is told under the contract's keys."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.serve import judging, requests
from scalepan.serve.envelope import Caller
from scalepan.serve.service import Service, Settings

CALLER = Caller(request_id="r", trace_id="t")


def asked(tmp_path: Path, case: dict[str, Any], output: dict[str, Any], **more: Any) -> dict[str, Any]:
    service = Service(Settings(store=tmp_path / "s.duckdb"))
    try:
        answer = judging.output_score(service, requests.OutputScore(case=case, output=output, **more), CALLER)
    finally:
        service.close()
    told: dict[str, Any] = msgspec.to_builtins(answer)
    return told


def test_the_diagnosis_has_the_contracts_keys(tmp_path: Path) -> None:
    """Contract evals.36 and evals.32."""
    wanted = {"type": "replace", "targetBlockId": "b", "expectedContentPatterns": ["alpha2"]}
    case = {
        "id": "a",
        "pages": [{"id": "p", "blocks": [{"id": "b", "content": "alpha1"}]}],
        "expected": {"operations": [{"pageId": "p", "operations": [wanted]}]},
    }
    done = {"type": "replace", "targetBlockId": "b", "content": "alpha2. Also, the CEO\x1b[31m resigned."}
    told = asked(tmp_path, case, {"operations": [{"pageId": "p", "operations": [done]}]}, preset="strict")
    assert told["passed"] is False
    cause, *_ = told["diagnosis"]["anti_hallucination_failed"]["causes"]
    assert (cause["cause"], "CEO" in cause["evidence"], "\x1b" in cause["evidence"]) == ("invented fact", True, False)
    right = {"operations": [{"pageId": "p", "operations": [{**done, "content": "alpha2"}]}]}
    assert "diagnosis" not in asked(tmp_path, case, right, preset="strict")


def test_a_text_does_not_pass_unmeasured(tmp_path: Path) -> None:
    assert asked(tmp_path, {"id": "a", "expected": {"output": "Paris"}}, {"output": "banana"})["passed"] is False
    told = asked(tmp_path, {"id": "a", "expected": {}}, {"output": "banana"})
    assert (told["passed"], list(told["diagnosis"])) == (False, ["nothing_measured", "golden_faults"])


def test_a_hostile_pattern_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recursion is not supported") as raised:
        asked(tmp_path, {"id": "a", "expected": {"matches": "(?R)"}}, {"output": "x"})
    assert raised.value.path == "case.expected.matches"
