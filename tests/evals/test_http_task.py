"""Tasks behind an address: a real server on this machine, one that answers and one that does not."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from scalepan.errors import InputError
from scalepan.evals import Case, Expected, as_task
from tests.cli.conftest import Run, run

__all__ = ["run"]

CASE = Case(id="a", user_message="say x", expected=Expected(output="x"), scorers=[{"type": "exact"}])


class Agent(BaseHTTPRequestHandler):
    """Answers by its path."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        case = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(case)
        status, body = 200, b""
        match self.path:
            case "/answer":
                body = json.dumps({"output": case["userMessage"].removeprefix("say "), "durationMs": 3}).encode()
            case "/text":
                body = b"just a text"
            case "/busy":
                status, body = 503, b"no\nmodel"
            case "/elsewhere":
                status = 302
            case "/misfit":
                body = b'{"operations": 7}'
            case "/slow":
                time.sleep(0.6)
            case "/flaky":
                status = 200 if len(self.asked) % 2 else 500
                body = b"x"
            case "/sometimes":
                body = b"x" if len(self.asked) % 5 else b"y"
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/answer")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def address() -> Iterator[str]:
    Agent.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_case_is_posted_without_what_is_expected(address: str) -> None:
    output = as_task(f"{address}/answer")(CASE)
    assert (output.output, output.duration_ms, output.error) == ("x", 3, None)
    assert Agent.asked == [{"id": "a", "userMessage": "say x"}]
    assert as_task(f"{address}/text")(CASE).output == "just a text"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/busy", "the task answered 503: no model"),
        ("/elsewhere", "the task answered 302, a redirect, which is not followed; name the address itself"),
        ("/misfit", "the task's output does not fit"),
        ("/slow", "0.2 s"),
    ],
)
def test_what_is_not_an_output_is_the_outputs_error(address: str, path: str, error: str) -> None:
    found = as_task(address + path, timeout_s=0.2 if path == "/slow" else 20)(CASE).error
    assert found is not None
    assert error in found


def test_nobody_there_is_the_outputs_error(address: str) -> None:
    found = as_task("http://127.0.0.1:1/answer")(CASE).error
    assert found is not None
    assert found.startswith("the task cannot be reached")


@pytest.mark.parametrize(
    "bad", ["http://", "http://host:port/", "http://me:pw@127.0.0.1/", "http://a b/", "http://h:0/"]
)
def test_what_is_not_an_address_is_refused_before_anything_runs(bad: str) -> None:
    with pytest.raises(InputError, match="address"):
        as_task(bad)


def test_an_async_function_is_a_task() -> None:
    async def answer(case: Case) -> str:
        await asyncio.sleep(0)
        return case.user_message

    async def hangs(case: Case) -> str:
        await asyncio.sleep(5)
        return ""

    assert as_task(answer)(CASE).output == "say x"
    assert as_task(hangs, timeout_s=0.05)(CASE).error == "the task took longer than 0.05 s"


def test_repeats_of_a_flaky_agent(run: Run, tmp_path: Path, address: str) -> None:
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump([{"id": "a", "expected": {"output": "x"}}]))
    task = ["--task", f"{address}/sometimes", "--jobs", "1", "--repeats", "5"]
    done = run("eval", "run", "cases.yaml", *task, "--pass", "4", "--name", "main")
    assert done.code == 0
    assert "a case passes if 4 of 5 tries do; pass@1 0.800  pass@5 1.000  pass^5 0.000" in done.out
    assert "flaky: a (4 of 5)" in done.out
    rows = [json.loads(line) for line in (tmp_path / "runs" / "main.jsonl").read_text().splitlines()[1:]]
    assert [(row["try"], row["passed"]) for row in rows] == [(1, True), (2, True), (3, True), (4, True), (5, False)]
    assert run("eval", "run", "cases.yaml", *task).code == 1  # all five must pass


def test_a_failed_answer_is_tried_again(run: Run, tmp_path: Path, address: str) -> None:
    Agent.asked.append({})
    assert as_task(f"{address}/flaky", retries=1)(CASE).output == "x"
    assert len(Agent.asked) == 3


@pytest.mark.parametrize(
    "args", [["--task", "x", "--repeats", "2", "--pass", "3"], ["--outputs", "o.jsonl", "--repeats", "2"]]
)
def test_repeats_that_make_no_sense_are_refused(run: Run, tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump([{"id": "a", "expected": {"output": "x"}}]))
    assert run("eval", "run", "cases.yaml", *args).code == 2
