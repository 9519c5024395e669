"""scalepan value on a folder of an agent's logs: what people see, what programs get, on 80 columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.cli._common import console
from tests.cli.conftest import Run
from tests.cli.test_hostile_text import EVIL, is_harmless


def session(number: int, *turns: tuple[str, bool | None], prompt: str, day: str, project: str) -> str:
    """A session of Claude Code: one prompt, calls of tools with results that failed or not, an answer."""
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": prompt}}]
    for at, (tool, failed) in enumerate(turns):
        call = {"type": "tool_use", "id": f"t{number}-{at}", "name": tool, "input": {"at": at}}
        usage = {"input_tokens": 1000, "output_tokens": 10}
        message = {"role": "assistant", "id": f"m{number}-{at}", "model": "sonnet", "content": [call], "usage": usage}
        lines.append({"type": "assistant", "message": message})
        answer = {"type": "tool_result", "tool_use_id": f"t{number}-{at}", "content": "ok", "is_error": bool(failed)}
        lines.append({"type": "user", "message": {"role": "user", "content": [answer]}})
    said = {"role": "assistant", "id": f"m{number}", "model": "sonnet", "content": [{"type": "text", "text": "Done."}]}
    lines.append({"type": "assistant", "message": said})
    parent = None
    for at, line in enumerate(lines):
        uuid = f"{number}-{at}"
        line |= {"uuid": uuid, "parentUuid": parent, "sessionId": f"s{number}", "cwd": project}
        line |= {"timestamp": f"{day}T12:00:{at:02}Z", "isSidechain": False}
        parent = uuid
    return "\n".join(map(json.dumps, lines)) + "\n"


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as in ~/.claude/projects: two projects, two weeks, the same request twice, and half a file."""
    monkeypatch.setenv("COLUMNS", "80")
    console.cache_clear()
    folder = tmp_path / "projects"
    shop, docs = folder / "shop", folder / "docs"
    for one in (shop, docs):
        one.mkdir(parents=True)
    worked, failed = [("Read", False)] * 3, [("Bash", True), ("Bash", False)]
    mine: dict[str, Any] = {"prompt": "Fix the flaky test", "day": "2026-01-27", "project": "/home/ann/shop"}
    (shop / "1.jsonl").write_text(session(1, *worked, **mine))
    (shop / "2.jsonl").write_text(session(2, *worked, **mine))
    (docs / "3.jsonl").write_text(
        session(3, *failed, prompt="Write the notes", day="2026-02-03", project="/home/ann/docs")
    )
    (docs / "4.jsonl").write_text('{"@context": "https://openknowledgepulse.org/schema/v1", "id": 1}\n')
    yield folder
    console.cache_clear()


def test_people_see_what_their_agents_did(run: Run, projects: Path) -> None:
    out = run("value", projects, "--embedder", "none").out
    lines = [line.rstrip() for line in out.splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[0] == "3 traces, 3 sessions, 3 files, 2026-01-27 to 2026-02-03"
    assert lines[2] == "8 calls, 12 % failed, 1 recovery, 8.0k tokens in, 80 out"
    start = lines.index("by project")
    assert [line.split() for line in lines[start + 1 : start + 4]] == [
        ["traces", "median", "pass", "calls", "failed", "recov.", "tokens"],
        ["shop", "2", lines[start + 2].split()[2], "0", "%", "6", "0", "%", "6.1k"],
        ["docs", "1", lines[start + 3].split()[2], "0", "%", "2", "50", "%", "100", "%", "2.0k"],
    ]
    start = lines.index("by tool")
    assert [line.split() for line in lines[start + 1 : start + 4]] == [
        ["calls", "failed", "failed", "%", "recovered"],
        ["Read", "6", "0", "0", "%"],
        ["Bash", "2", "1", "50", "%", "1", "of", "1"],
    ]
    assert "    2 × Fix the flaky test" in lines
    assert "rejected: 1 record" in lines
    assert "confidence and success not stated in 3 claude-code traces" in out
    for absent in ("by domain", "by format", "by model", "agents and sub-agents", "near-duplicates:"):
        assert absent not in lines


def test_programs_get_the_summary_beside_the_rows(run: Run, projects: Path, tmp_path: Path) -> None:
    done = run("value", projects, "--embedder", "none", "--json", "--summary", "summary.json")
    assert len(done.out.splitlines()) == 3
    assert "scalepan: summary written to summary.json" in done.err
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["traces"], summary["sessions"], summary["files"], summary["rejected"]) == (3, 3, 3, 1)
    assert [(row["name"], row["calls"], row["failed_share"]) for row in summary["tools"]] == [
        ("Read", 6, 0.0),
        ("Bash", 2, 0.5),
    ]
    assert [row["name"] for row in summary["groups"]["week"]] == ["2026-01-26", "2026-02-02"]
    assert summary["exact_repeats"]["traces"] == 1
    assert summary["near_repeats"] is None
    assert (tmp_path / "summary.json").stat().st_mode & 0o777 == 0o600
    alone = run("value", projects, "--embedder", "none", "--summary", "again.json")
    assert "3 traces" in alone.out
    assert json.loads((tmp_path / "again.json").read_text()) == summary


def test_rows_and_a_page_come_from_one_run(run: Run, projects: Path, tmp_path: Path) -> None:
    done = run("value", projects, "--embedder", "none", "--out", "values.jsonl", "--html", "report.html")
    assert done.code == 0
    assert len((tmp_path / "values.jsonl").read_text().splitlines()) == 3
    page = (tmp_path / "report.html").read_text()
    assert page.count('<details class="item"') == 3
    assert "Week by week" in page


def test_a_hostile_log_does_nothing_to_the_screen_or_the_summary(run: Run, projects: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "R7wq9LzT2" * 4
    evil = f"{EVIL} {secret}"
    bad = session(9, (evil, True), prompt=evil, day="2026-02-03", project=f"/{evil}")
    (projects / "docs" / "5.jsonl").write_text(bad)
    (projects / "docs" / "6.jsonl").write_text(
        '{"@context": "https://openknowledgepulse.org/schema/v1", "@type": ' + json.dumps(evil) + "}\n"
    )
    done = run("value", projects, "--embedder", "none", "--summary", "summary.json", "--html", "report.html")
    assert done.code == 0
    assert is_harmless(done)
    assert secret not in done.out
    for file in ("summary.json", "report.html"):
        assert secret not in (tmp_path / file).read_text()


def test_a_run_that_continues_sums_up_what_it_added(run: Run, projects: Path) -> None:
    args = ("value", projects, "--embedder", "none", "--out", "values.jsonl")
    run(*args)
    again = run(*args, "--resume")
    assert again.out.rstrip().splitlines()[0] == "0 traces"
    assert "median" not in again.out
    assert "3 rows of an earlier run are not in the summary" in again.err


def test_a_trace_named_by_explain_alone_has_no_summary(run: Run, samples: Path) -> None:
    assert "what stands out" not in run("value", samples, "--embedder", "none", "--explain", "finance-0001").out
