"""scalepan redact: as a filter, as a check, as a report; what it refuses, and bytes that are no text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.redact.fakes import aws_key, pem

LEAK = "user: ann\npassword: hunter2\nmail ann@example.com\n"
CLEAN = "user: ann\npassword: [secret:password]\nmail [pii:email]\n"


def test_a_file_comes_out_with_marks(run: Run) -> None:
    Path("notes.txt").write_text(LEAK)
    done = run("redact", "notes.txt")
    assert (done.code, done.out, done.err) == (0, CLEAN, "")


@pytest.mark.parametrize("args", [(), ("-",)])
def test_standard_input_comes_out_with_marks(run: Run, args: tuple[str, ...]) -> None:
    assert run("redact", *args, stdin=LEAK.encode()).out == CLEAN


def test_its_own_output_stays_as_it_is(run: Run) -> None:
    assert run("redact", stdin=CLEAN.encode()).out == CLEAN
    assert run("redact", "--check", stdin=CLEAN.encode()).code == 0


def test_files_come_out_one_after_the_other(run: Run) -> None:
    Path("a.txt").write_text("mail ann@example.com\n")
    Path("b.txt").write_text(pem() + "\n")
    assert run("redact", "a.txt", "b.txt").out == "mail [pii:email]\n[secret:private-key]\n"


def test_check_names_the_places_and_fails(run: Run) -> None:
    Path("notes.txt").write_text(LEAK)
    done = run("redact", "--check", "notes.txt")
    assert done.code == 1
    assert done.out == "notes.txt:2:11: secret:password\nnotes.txt:3:6: pii:email\n"
    assert done.err == "scalepan: 2 found: password 1, email 1\n"
    assert "hunter2" not in done.out + done.err


def test_check_is_silent_about_what_is_clean(run: Run) -> None:
    Path("notes.txt").write_text("nothing to see\n")
    assert run("redact", "--check", "notes.txt") == (0, "", "")


def test_json_has_kind_place_and_hash_and_not_the_value(run: Run) -> None:
    done = run("redact", "--json", stdin=(LEAK + LEAK).encode())
    assert done.code == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["file"], row["line"], row["column"], row["kind"], row["category"], row["length"]) for row in rows] == [
        ("stdin", 2, 11, "password", "secret", 7),
        ("stdin", 3, 6, "email", "pii", 15),
        ("stdin", 5, 11, "password", "secret", 7),
        ("stdin", 6, 6, "email", "pii", 15),
    ]
    assert rows[0]["hash"] == rows[2]["hash"] != rows[1]["hash"]
    assert "hunter2" not in done.out


def test_json_and_check_together_report_and_fail(run: Run) -> None:
    done = run("redact", "--json", "--check", stdin=LEAK.encode())
    assert done.code == 1
    assert len(done.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("kinds", "out"),
    [
        ("secret", LEAK.replace("hunter2", "[secret:password]")),
        ("email, phone", LEAK.replace("ann@example.com", "[pii:email]")),
        ("secret,pii", CLEAN),
    ],
)
def test_only_some_kinds(run: Run, kinds: str, out: str) -> None:
    assert run("redact", "--kinds", kinds, stdin=LEAK.encode()).out == out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("none.txt",), "scalepan: none.txt: cannot be read: No such file or directory\n"),
        (("--kinds", "emial", "-"), "scalepan: no kind 'emial'; did you mean 'email'?\n"),
        (("--kinds", "", "-"), "scalepan: no kind ''"),
        (("--policy", "none.yaml", "-"), "scalepan: none.yaml: "),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, args: tuple[str, ...], said: str) -> None:
    done = run("redact", *args, stdin=LEAK.encode())
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(said)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            "redact: {kinds: {emial: false}}",
            "scalepan: scalepan.yaml: redact: kinds has no 'emial'; did you mean 'email'?\n",
        ),
        (
            "redact: {rules: [{name: x, pattern: '('}]}",
            "scalepan: scalepan.yaml: redact.rules[0]: '(' is not a regular expression: missing ) at position 1\n",
        ),
        (
            "redact: {rules: [{name: x, pattern: 'a'}, {name: x, pattern: 'b', category: pii}]}",
            "scalepan: scalepan.yaml: redact: rules call 'x' both secret and pii; give one of them another name\n",
        ),
    ],
)
def test_a_policy_that_does_not_fit_is_named(run: Run, policy: str, said: str) -> None:
    Path("scalepan.yaml").write_text(policy)
    done = run("redact", stdin=LEAK.encode())
    assert (done.code, done.out) == (2, "")
    assert done.err.replace(f"{Path.cwd()}/", "") == said


def test_the_policy_switches_off_and_adds(run: Run) -> None:
    Path("mine.yaml").write_text("redact: {kinds: {email: false}, rules: [{name: badge, pattern: 'B-\\d{4}'}]}")
    out = run("redact", "--policy", "mine.yaml", stdin=b"B-1234 ann@example.com\n").out
    assert out == "[secret:badge] ann@example.com\n"


def test_the_environment_cannot_switch_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_REDACT__KINDS__EMAIL", "false")
    assert run("redact", stdin=LEAK.encode()).out == CLEAN


def test_a_rule_of_the_users_that_takes_too_long_lets_nothing_through(run: Run) -> None:
    Path("scalepan.yaml").write_text("redact: {timeout_ms: 50, rules: [{name: slow, pattern: '(a|aa)+$'}]}")
    done = run("redact", stdin=b"a" * 40_000 + b"b password=hunter2\n")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("scalepan: redact.rules: rule 'slow' took longer than 50 ms")


def test_bytes_that_are_no_text_come_out_as_they_went_in(run: Run) -> None:
    data = bytes(range(128, 256)) + b"\0\xff ann@example.com \xfe\n\x80password=hunter2\r\n"
    Path("data.bin").write_bytes(data)
    command = [sys.executable, "-m", "scalepan", "redact", "data.bin"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == data.replace(b"ann@example.com", b"[pii:email]").replace(b"hunter2", b"[secret:password]")


def test_utf16_is_refused_rather_than_called_clean(run: Run) -> None:
    Path("wide.txt").write_text(LEAK, encoding="utf-16")
    done = run("redact", "--check", "wide.txt")
    assert done.code == 2
    assert done.err.startswith("scalepan: wide.txt: is UTF-16; convert it to UTF-8 first")


def test_a_line_of_megabytes_comes_through(run: Run) -> None:
    line = b"x" * 1_500_000 + b" " + aws_key().encode() + b" " + b"y" * 700_000
    done = run("redact", stdin=line)
    assert len(done.out) == len(line) - 20 + len("[secret:aws-key]")
    assert aws_key() not in done.out


def test_a_folder_is_refused(run: Run) -> None:
    Path("folder").mkdir()
    assert run("redact", "folder").code == 2
