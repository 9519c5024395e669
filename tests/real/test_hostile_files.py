"""Every command that reads a file, on files that are made to hurt: a line and an exit code, no traceback, no hang.

`python -m tests.real.test_hostile_files` prints how each command took each file.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scalepan.samples import CASES, OUTPUTS, TRACES

SECONDS = 120
"""For all files of one command; before, a single one took for ever."""
LONGEST_LINE = 1000
PLAIN = {"SCALEPAN_EMBED__MODEL": "none", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}


def rule(pattern: str) -> bytes:
    return f"redact: {{rules: [{{name: x, pattern: '{pattern}'}}]}}\n".encode()


def bomb(first: str, item: str, lines: int) -> bytes:
    rows = [f"k0: &a0 {first}", *(f"k{n}: &a{n} {item.format(n=n - 1)}" for n in range(1, lines))]
    return "\n".join(rows).encode()


FILES: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\0" * 100,
    "binary": bytes(range(256)) * 4,
    "latin": "é: ü".encode("latin-1"),
    "deep-json": b"[" * 100_000 + b"]" * 100_000,
    "deep-object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep-yaml": b"- " * 5_000 + b"x",
    "alias-bomb": bomb("[x, x, x]", "[*a{n}, *a{n}, *a{n}, *a{n}]", 30),
    "alias-bomb-in-maps": bomb("{x: y}", "{{p: *a{n}, q: *a{n}, r: *a{n}}}", 30),
    "merge-bomb": bomb("{x: y}", "{{<<: [*a{n}, *a{n}, *a{n}]}}", 30),
    "alias-bomb-in-cases": b"- id: x\n  expected: {}\n  scorers:\n    - &s0 {type: exact}\n"
    + "".join(f"    - &s{n} {{type: exact, a: *s{n - 1}, b: *s{n - 1}}}\n" for n in range(1, 50)).encode(),
    "alias-bomb-in-presets": b"evals:\n  presets:\n    p0: &s0 [{type: exact}]\n"
    + "".join(f"    p{n}: &s{n} [{{type: exact, a: *s{n - 1}, b: *s{n - 1}}}]\n" for n in range(1, 50)).encode(),
    "refers-to-itself": b"value: &v {a: *v}\n",
    "surrogates": b'{"\\ud800": "\\udfff", "id": "\\ud800", "text": "\\ud83d", "value": {"\\udc00": 1}}\n',
    "surrogate-cases": b'- {id: "\\ud800", expected: {"\\udfff": 1}}\n',
    "surrogates-raw": b'{"text": "\xed\xa0\x80"}\n',
    "huge-number": b'{"id": "x", "text": ' + b"9" * 5_000 + b', "search_max_score": 1e999}\n',
    "huge-number-yaml": b"value: {gate: " + b"9" * 5_000 + b"}\n",
    "no-numbers": b"value: {gate: .inf, budget_ms: .nan}\n",
    "words": b"just words\n",
    "list": b'[1, 2, null, "x"]\n',
    "null": b"null\n",
    "tag": b"!!python/object/apply:os.system [id]\n",
    "escapes": b'value: {"\\e[31mred": 1}\n',
    "calls-itself": rule("(?R)"),
    "alternation": rule("|".join(f"w{n}" for n in range(650_000))),
    "repeats": rule("(((((a{1000}){1000}){1000}){1000}){1000})"),
    "groups": rule("(" * 3_000 + "a" + ")" * 3_000),
    "invariant": b"boundary: {invariants: {x: '" + b"!" * 990 + b"a'}}\n",
    "many-keys": b"value: {" + b",".join(b"k%d: 1" % n for n in range(20_000)) + b"}\n",
    "long-line": b"x" * 5_000_000,
}
COMMANDS: dict[str, list[object]] = {
    "value": ["value", "{}"],
    "value --policy": ["value", TRACES, "--policy", "{}", "--json"],
    "eval run": ["eval", "run", "{}", "--outputs", OUTPUTS],
    "eval run --outputs": ["eval", "run", CASES, "--outputs", "{}"],
    "eval lint": ["eval", "lint", "{}"],
    "confidence": ["confidence", "{}"],
    "memory import": ["memory", "import", "{}"],
    "memory add": ["memory", "add", "--file", "{}"],
    "memory calibrate": ["memory", "calibrate", "{}"],
    "memory bench": ["memory", "bench", "{}"],
    "redact": ["redact", "{}"],
    "redact --policy": ["redact", "words", "--policy", "{}"],
    "policy check": ["policy", "check", "{}"],
    "policy show": ["policy", "show", "--policy", "{}"],
    "policy diff": ["policy", "diff", "{}"],
    "policy set": ["policy", "set", "{}", "--tenant", "acme"],
    "doctor": ["doctor", "--policy", "{}"],
}

# All files of a command in one process: starting one for each would be most of the time.
SCRIPT = """
import io, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
from scalepan.cli import main

files, args = sys.argv[1].split(), sys.argv[2:]
for file in files:
    sys.argv = ["scalepan", *(arg.replace("{}", file) for arg in args)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    print("file", file, flush=True)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        except BaseException:
            code = "Traceback " + traceback.format_exc()[-300:]
    err.seek(0)
    lines = err.read().splitlines()
    print("done", code, max(map(len, lines), default=0), *lines[-1:], flush=True)
"""


def outcomes(args: list[object], folder: Path) -> dict[str, str]:
    """How the command took each file."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir(exist_ok=True)
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
    names = [*FILES, "folder", "missing", "loop", "/dev/null", "/dev/zero"]
    env = {
        "SCALEPAN_STORE": str(folder / "store" / "notes.duckdb"),
        "SCALEPAN_EMBED__MODEL": "none",
        "SCALEPAN_CACHE": str(folder / "cache"),
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    (folder / "store").mkdir(exist_ok=True)
    command = [sys.executable, "-c", SCRIPT, " ".join(names), *map(str, args)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, cwd=folder, env=env, check=False)
        out = done.stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
    found: dict[str, str] = dict.fromkeys(names, "hangs or crashes the interpreter")
    file = ""
    for line in out.decode("utf-8", "replace").splitlines():
        word, _, rest = line.partition(" ")
        if word == "file":
            file = rest
        elif word == "done":
            found[file] = rest
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_and_an_exit_code(name: str, tmp_path: Path) -> None:
    for file, outcome in outcomes(COMMANDS[name], tmp_path).items():
        code, _, rest = outcome.partition(" ")
        # 3: an empty outputs file leaves every case unmeasured.
        assert code in ("0", "1", "2", "3"), (file, outcome)
        assert int(rest.split()[0]) < LONGEST_LINE, (file, outcome)


ASCII = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "latin-1"},
]
PRINTING: dict[str, list[object]] = {
    "value": ["value", TRACES],
    "value --explain": ["value", TRACES, "--explain", "kp:trace:finance-ja-0001"],
    "eval": ["eval", "run", CASES, "--outputs", OUTPUTS],
    "doctor": ["doctor"],
    "policy show": ["policy", "show"],
    "policy check": ["policy", "check", "設定.yaml"],
    "demo": ["demo"],
}


@pytest.mark.parametrize("env", ASCII, ids=lambda env: "-".join(env.values()))
@pytest.mark.parametrize("name", PRINTING)
def test_a_terminal_that_knows_few_characters(name: str, env: dict[str, str], tmp_path: Path) -> None:
    base = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **PLAIN}
    command = [sys.executable, "-m", "scalepan", *map(str, PRINTING[name])]
    done = subprocess.run(command, capture_output=True, timeout=60, cwd=tmp_path, env={**base, **env}, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    assert done.stdout or done.returncode == 2
    if env.get("PYTHONIOENCODING") != "latin-1":
        assert done.stdout.isascii()


@pytest.mark.parametrize("args", [["policy", "show"], ["value", TRACES, "--json"]], ids=lambda args: args[0])
def test_a_reader_that_has_seen_enough_is_no_failure(args: list[object], tmp_path: Path) -> None:
    """What `| head -1` does: 141 is what a shell knows for that, and 1 is what failed cases are."""
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **PLAIN}
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "scalepan", *map(str, args)]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, timeout=60, cwd=tmp_path, env=env, check=False
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    assert done.returncode == 141


@pytest.mark.parametrize("args", [["mcp"], ["value", "-"], ["memory", "import", "-"], ["redact", "-"]], ids=" ".join)
def test_a_closed_input_is_one_line(args: list[str], tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **PLAIN}
    command = shlex.join([sys.executable, "-m", "scalepan", *args]) + " <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, cwd=tmp_path, env=env, check=False)
    assert b"Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(b"scalepan: standard input: is closed")
    assert done.returncode == 2


if __name__ == "__main__":
    from tempfile import mkdtemp

    for command in COMMANDS:
        for file_name, said in outcomes(COMMANDS[command], Path(mkdtemp())).items():
            print(f"{command:<20} {file_name:<24} {said[:150]}", flush=True)
