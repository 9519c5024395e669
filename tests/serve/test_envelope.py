"""Every answer says by which request and trace it came; every error has a code of contract memory.53."""

import logging

import msgspec
import pytest

from scalepan import errors
from scalepan.serve.envelope import CODES, caller, failure


def test_the_clients_trace_is_kept() -> None:
    assert caller({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}).trace_id == "a" * 32
    assert caller({"trace_id": "run-7"}).trace_id == "run-7"


@pytest.mark.parametrize("meta", [None, {}, {"traceparent": "nonsense"}, {"trace_id": "a\x1b[2J"}, {"trace_id": ["x"]}])
def test_without_a_good_one_there_is_a_new_one(meta: dict[str, object] | None) -> None:
    one, other = caller(meta), caller(meta)
    assert len(one.trace_id) == 32
    assert len({one.trace_id, other.trace_id, one.request_id, other.request_id}) == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("bad"), "VALIDATION_ERROR"),
        (errors.PolicyError("bad"), "POLICY_INVALID"),
        (errors.NotFoundError("gone"), "NOT_FOUND"),
        (errors.ConflictError("no"), "CONFLICT"),
        (errors.BoundaryError("no"), "BOUNDARY_DENIED"),
        (errors.TookTooLongError("late"), "TIMEOUT"),
        (TimeoutError("late"), "TIMEOUT"),
        (errors.StoreError("broken"), "INTERNAL"),
        (ZeroDivisionError("secret inside"), "INTERNAL"),
    ],
)
def test_codes(error: Exception, code: str) -> None:
    asked = caller()
    told = failure(error, asked)
    assert code in CODES
    assert told["error"]["code"] == code
    assert (told["request_id"], told["trace_id"]) == (asked.request_id, asked.trace_id)


def test_what_was_not_expected_goes_to_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    asked = caller()
    with caplog.at_level(logging.ERROR):
        told = failure(ZeroDivisionError("inner words"), asked)
    assert "inner words" not in str(told)
    assert asked.request_id in told["error"]["message"]
    assert "inner words" in caplog.text


@pytest.mark.parametrize("key", [None, "8e03978e"])
def test_a_store_that_hangs_is_told_without_where_it_lies(key: str | None, caplog: pytest.LogCaptureFixture) -> None:
    problem = "/home/aoi/notes.duckdb is owned by process 17, which does not answer; repeat it with request id 3f2a"
    asked = msgspec.structs.replace(caller(), key=key)
    with caplog.at_level(logging.ERROR):
        told = failure(errors.UnansweredError(problem, "3f2a", lambda: None), asked)["error"]
    assert told["code"] == "TIMEOUT"
    assert told["message"] == "the store does not answer; the request may still be applied" + (
        ", once: send it again under its key" if key else ""
    )
    assert problem in caplog.text


def test_messages_do_nothing_to_a_terminal() -> None:
    assert failure(errors.StoreError("a\x1b[2Jb"), caller())["error"]["message"] == "ab"
