"""One redactor, made from the policy in force, for everything that is stored (contract memory.65).

A user's rule was stored in clear by decisions, receipts, tokens and sessions: they had the built-in rules.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.confidence import Answer, ConfidenceFactors, Gate
from scalepan.loop import Session, claims_from_trace
from scalepan.memory import Memory
from scalepan.policy import load_policy
from scalepan.receipts import keep
from scalepan.samples import sample_trace
from scalepan.score import Part, Score
from scalepan.serve import decisions, tokens
from scalepan.serve.envelope import Caller, caller
from scalepan.serve.log import RedactedFormatter
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import checked, tool
from scalepan.store import Store
from scalepan.store.policies import SetPolicy
from scalepan.store.receipts import Receipt

TICKET = "TCK-" + "123456"
RULES = {"redact": {"rules": [{"name": "ticket", "pattern": "TCK-[0-9]{6}"}]}}
UNSURE = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
TABLES = ("decisions", "scores", "labels", "tokens", "events", "requests", "claims", "feedbacks", "active_contexts")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


@pytest.fixture(params=["file", "environment", "tenant"])
def rules(request: pytest.FixtureRequest, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The user's rule, by the policy file, by the environment, or by the store's policy for the tenant."""
    if request.param == "file":
        (tmp_path / "scalepan.yaml").write_text(json.dumps(RULES))
    elif request.param == "environment":
        monkeypatch.setenv("SCALEPAN_REDACT__RULES", json.dumps(RULES["redact"]["rules"]))
    else:
        store.call("store.set_policy", SetPolicy(json.dumps(RULES), "default"))
    return str(request.param)


def kept(store: Store) -> str:
    return "\n".join(str(store.sql(f"SELECT * FROM {name}")) for name in TABLES)


def test_decisions_answers_and_labels(store: Store, rules: str) -> None:
    gate = Gate(store=store, ask=lambda question: Answer(True, f"Aoi {TICKET}", f"see {TICKET}"))
    text = f"close {TICKET}"
    made = Score("confidence", 0.5, parts=(Part("verifier", 0.5, 1.0, note=text),), base=0.5, details={text: [text]})
    ids = [gate.check(evidence, text, {"note": text, "of": [text]}).id for evidence in (UNSURE, made)]
    id_ = gate.open(UNSURE, text).id
    gate.answer(id_, False, actor="Bo", why=text)
    gate.label(id_, True, actor="Bo", why=text)
    assert TICKET not in kept(store)
    assert "[secret:ticket]" in kept(store)
    assert all(ids)


def test_what_a_person_is_asked(store: Store, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text(json.dumps(RULES))
    asked: list[str] = []
    Gate(ask=lambda question: asked.append(str(question))).check(UNSURE, "close", {"ticket": TICKET})
    assert asked == ['Approve close(ticket="[secret:ticket]")? The agent is 52 % confident; below 70 % it must ask.']


def test_tokens(store: Store, rules: str) -> None:
    made = tokens.create(store, tenant="default", note=f"for {TICKET}\x1b[2J")
    assert made.token.note == "for [secret:ticket]"
    assert TICKET not in kept(store)


def test_receipts(store: Store, rules: str) -> None:
    body: dict[str, Any] = {"name": "case", "value": 0.5, "reason": TICKET, "parts": [{"note": TICKET}]}
    receipt = Receipt(
        name="case",
        value=0.5,
        inputs={"scorers": {TICKET: {"note": TICKET}}},
        body=body,
        policy_version="v",
        tenant="default",
        subject=f"case {TICKET}",
    )
    keep(store, [receipt])
    assert TICKET not in kept(store)
    assert "[secret:ticket]" in kept(store)


def test_a_door(store: Store, rules: str) -> None:
    service = Service(Settings(), store)
    request = {"action": f"close {TICKET}", "args": {"note": TICKET}, "factors": {"search_result_count": 1}}
    for asked in (caller(), Caller("r", "t", TICKET, f"token {TICKET}", may_answer=True)):
        answer = decisions.decide(service, checked(tool("decide"), request), asked)
        assert TICKET not in str(answer)
    assert TICKET not in kept(store)


def test_a_session(store: Store, rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trace, its value, its decisions, its votes, what it offers and keeps; half a ticket is none either."""
    monkeypatch.setenv("SCALEPAN_VALUE__GATE", "0")  # so that every trace is worth offering
    memory = Memory(store, actor=f"agent {TICKET}", policy=None)
    edge = "x" * 490 + TICKET + "y" * 20_000

    def fails() -> str:
        raise LookupError("z" * 190 + f" {TICKET} is closed")

    with Session(f"Close {TICKET}", memory, ask=lambda question: Answer(False, "Bo", f"not {TICKET}"), keep=True) as s:
        s.thought(f"Look at {TICKET}")
        with pytest.raises(LookupError):
            s.call("find", fails)
        s.recovered("a" * 395 + f" {TICKET}")
        s.call("dump", lambda: edge)
        s.call(f"read {TICKET}", lambda ticket: {"ticket": ticket}, TICKET)
        s.observed(f"{TICKET} is open")
        s.answer(f"{TICKET} can be closed", self_confidence=0.5)
        s.may(f"close {TICKET}", ticket=TICKET)
        s.succeed(f"closed {TICKET}")
    assert s.trace is not None
    for text in (kept(store), str(s.trace.to_json()), str(s.offered)):
        assert TICKET not in text
        assert "TCK-1" not in text
    assert s.offered


def test_offers_without_a_redactor(store: Store, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text(json.dumps(RULES))
    trace = sample_trace()
    offered = claims_from_trace(trace, [f"close {TICKET}"])
    assert TICKET not in str(offered)
    assert "[secret:ticket]" in str(offered)


def test_logs(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(json.dumps(RULES))
    form = RedactedFormatter("scalepan serve: %(message)s", load_policy(tmp_path / "policy.yaml"))
    try:
        raise RuntimeError(f"{TICKET}\x1b[2J and ann@example.com")
    except RuntimeError as error:
        info = (type(error), error, error.__traceback__)
    line = form.format(logging.LogRecord("scalepan", logging.ERROR, "x.py", 1, "failed %s", (TICKET,), info))
    assert TICKET not in line
    assert "example.com" not in line
    assert "\x1b" not in line


def test_a_rule_that_takes_too_long_lets_nothing_through(store: Store, tmp_path: Path) -> None:
    slow = {"redact": {"rules": [{"name": "slow", "pattern": "(a|aa)+$"}], "timeout_ms": 1}}
    (tmp_path / "scalepan.yaml").write_text(json.dumps(slow))
    gate = Gate(store=store, ask=lambda question: True)
    done = []
    with pytest.raises(Exception, match="slow"), gate.allowed(UNSURE, "a" * 5000 + "b"):
        done.append(1)
    assert done == []
    assert "aaaaaaaaaa" not in kept(store)
