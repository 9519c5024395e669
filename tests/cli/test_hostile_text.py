"""What others wrote, in files, names and stores, does nothing to the terminal of whoever looks at it."""

import json
import os
import re
from pathlib import Path

import duckdb
import pytest

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.store import Store
from tests.cli.conftest import Done, Run

EVIL = "X\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp\u2066\rY\x08\x7f\u2028Z\U000e0041\x85"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return tmp_path


def is_harmless(done: Done) -> bool:
    return ACTS.search(done.out) is None and ACTS.search(done.err) is None


def a_trace(samples: Path) -> dict[str, object]:
    trace: dict[str, object] = json.loads(samples.read_text().splitlines()[0])
    return {**trace, "id": f"kp:trace:{EVIL}", EVIL: EVIL}


def test_traces(run: Run, samples: Path) -> None:
    Path("traces.jsonl").write_text(json.dumps(a_trace(samples)))
    for options in ([], ["--json"], ["--json", "--details"], ["--domains"], ["--explain", f"kp:trace:{EVIL}"]):
        done = run("value", "traces.jsonl", *options)
        assert done.out, options
        assert is_harmless(done), options
    line = run("value", "traces.jsonl", "--json").out
    assert json.loads(line)["id"] == f"kp:trace:{EVIL}"  # a program reads what was written


def test_a_report(run: Run, samples: Path, here: Path) -> None:
    """A page shows letters in the order in which they stand, and all of them."""
    trace = json.loads(samples.read_text().splitlines()[0])
    trace["id"] = f"kp:trace:{EVIL}"
    trace["task"]["objective"] = f"<script>{EVIL}"
    Path("traces.jsonl").write_text(json.dumps(trace))
    assert run("value", "traces.jsonl", "--html", "report.html").code == 0
    page = (here / "report.html").read_text()
    assert "&lt;script&gt;X" in page
    assert ACTS.search(page) is None


def test_a_report_is_redacted_by_the_policy_in_force(run: Run, samples: Path, here: Path) -> None:
    secret, mail, ticket = "ghp_" + "R7wq9LzT2" * 4, "hanako@" + "example.com", "TCK-" + "918273"
    Path("scalepan.yaml").write_text("redact: {rules: [{name: ticket, pattern: 'TCK-[0-9]{6}'}]}")
    trace = json.loads(samples.read_text().splitlines()[0])
    trace["id"] = f"kp:trace:{ticket}"
    trace["task"]["objective"] = f"push with {secret} for {mail}, {ticket}"
    Path("traces.jsonl").write_text(json.dumps(trace))
    assert run("value", "traces.jsonl", "--html", "report.html").code == 0
    page = (here / "report.html").read_text()
    assert "push with [secret:github-token] for [pii:email], [secret:ticket]" in page
    assert not [one for one in (secret, mail, ticket) if one in page]


def test_claims(run: Run) -> None:
    row = {"text": f"hello {EVIL}", "entities": [{"name": EVIL}], "provenance": {"source": EVIL, "note": EVIL}}
    Path("claims.jsonl").write_text(json.dumps(row))
    assert run("memory", "import", "claims.jsonl").code == 0
    for command in (["search", "hello"], ["activate", "hello"], ["list"], ["sql", "SELECT * FROM claims"]):
        for options in ([], ["--json"]):
            done = run("memory", *command, *options)
            assert "hello" in done.out, command
            assert is_harmless(done), (command, options)
    done = run("memory", "export")
    assert "hello" in done.out
    assert is_harmless(done)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_names_of_columns(run: Run, options: list[str]) -> None:
    """A query may name them, and so may a store that somebody else made."""
    done = run("memory", "sql", f'SELECT 1 AS "{EVIL}"', *options)
    assert done.code == 0
    assert is_harmless(done)


def test_a_table_of_somebody_elses(run: Run, here: Path) -> None:
    with Store(here / "notes.duckdb") as store:
        store.sql("SELECT 1")
    with duckdb.connect(str(here / "notes.duckdb")) as planted:
        planted.execute(f'ALTER TABLE labels ADD COLUMN "{EVIL}" VARCHAR')
    done = run("memory", "sql", "SELECT * FROM labels")
    assert "target_id" in done.out
    assert is_harmless(done)


def test_questions(run: Run, here: Path) -> None:
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    with Store(here / "notes.duckdb") as store:
        id_ = Gate(store=store, actor=EVIL).open(low, EVIL, {EVIL: EVIL, "list": [EVIL, {EVIL: EVIL}]}).id
    for command in (["confidence", "pending"], ["explain", id_], ["confidence", "answer", id_, "no", "--why", EVIL]):
        for options in ([], ["--json"]):
            done = run(*command, *options)
            assert id_ in done.out + done.err, command
            assert is_harmless(done), (command, options)


@pytest.mark.parametrize(
    "command",
    [
        [EVIL],
        ["value", f"--{EVIL}"],
        ["value", EVIL],
        ["eval", "lint", EVIL],
        ["memory", "vote", "clm_1", EVIL],
        ["memory", "search", "hello", "--why", EVIL],
        ["policy", "show", EVIL],
        ["policy", "check", f"{EVIL}.yaml"],
        ["explain", EVIL],
        ["init", EVIL],
        ["store", "recover", "--store", f"{EVIL}.duckdb"],
    ],
    ids=lambda command: command[0] if command[0] != EVIL else "no command",
)
def test_names_on_the_command_line(run: Run, command: list[str]) -> None:
    """In a cloned folder a pattern such as *.yaml stands for names that somebody else chose."""
    Path(f"{EVIL}.yaml").write_text("value: {gate: 0.5}")
    done = run(*command)
    assert done.out + done.err
    assert is_harmless(done)


def test_what_is_exported_is_the_owners_alone(run: Run, here: Path) -> None:
    run("memory", "add", "the quiet heron")
    before = os.umask(0o022)
    try:
        assert run("memory", "export", "claims.jsonl").code == 0
    finally:
        os.umask(before)
    assert "heron" in (here / "claims.jsonl").read_text()
    assert (here / "claims.jsonl").stat().st_mode & 0o777 == 0o600


def test_init_writes_through_no_link(run: Run, here: Path) -> None:
    (here / "README.md").symlink_to(here / "elsewhere" / "notes")
    (here / "elsewhere").mkdir()
    assert run("init").code == 2
    assert not (here / "elsewhere" / "notes").exists()
