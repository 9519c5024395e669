"""Every table of every command at 80, 120 and 200 columns: within the screen, and every number whole."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scalepan.cli._common import console
from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.samples import CASES, CLAIMS, OUTPUTS, TRACES
from scalepan.store import Store
from tests.cli.conftest import Done, Run
from tests.memory.test_bench import TINY, write

WIDTHS = (80, 120, 200)
WIDE = 5000
NUMBER = re.compile(r"[-+]?\d[\d.,:]*\d|\d")
At = Callable[..., Done]


@pytest.fixture
def at(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[At]:
    """`at(80, "value", ...)` as on a screen of 80 columns."""
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")

    def call(width: int, *args: object) -> Done:
        monkeypatch.setenv("COLUMNS", str(width))
        console.cache_clear()
        return run(*args)

    yield call
    console.cache_clear()


def claims(run: Run, _: Path) -> None:
    assert run("memory", "import", CLAIMS).code == 0


def question(_: Run, folder: Path) -> None:
    with Store(folder / "notes.duckdb") as store:
        factors = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
        Gate(store=store, ask=None).open(factors, "transfer 1,234.56 euros to the account of the supplier")


def policies(run: Run, folder: Path) -> None:
    (folder / "acme.yaml").write_text("value: {version: 2026-q4, gate: 0.625}")
    assert run("policy", "set", "acme.yaml", "--tenant", "acme").code == 0


def corpus(_: Run, folder: Path) -> None:
    write(folder / "set", **TINY)


def nothing(run: Run, folder: Path) -> None:
    """Needs no data."""


COMMANDS: dict[str, tuple[Callable[[Run, Path], None], list[object]]] = {
    "value": (nothing, ["value", TRACES]),
    "value --explain": (nothing, ["value", TRACES, "--explain", "kp:trace:finance-0001"]),
    "eval": (nothing, ["eval", "run", CASES, "--outputs", OUTPUTS]),
    "eval --explain": (nothing, ["eval", "run", CASES, "--outputs", OUTPUTS, "--explain", "{case}"]),
    "confidence": (nothing, ["confidence", "factors.jsonl"]),
    "confidence --aggregate": (nothing, ["confidence", "factors.jsonl", "--aggregate", "mean"]),
    "confidence questions": (question, ["confidence", "pending"]),
    "memory search": (claims, ["memory", "search", "how is a plan cancelled?"]),
    "memory search --explain": (claims, ["memory", "search", "how is a plan cancelled?", "--explain"]),
    "memory list": (claims, ["memory", "list"]),
    "memory get": (claims, ["memory", "get", "{claim}"]),
    "memory stats": (claims, ["memory", "stats"]),
    "memory sql": (claims, ["memory", "sql", "SELECT * FROM claims ORDER BY id LIMIT 3"]),
    "memory bench": (corpus, ["memory", "bench", "set"]),
    "policy show": (nothing, ["policy", "show"]),
    "policy show value": (nothing, ["policy", "show", "value"]),
    "policy diff": (nothing, ["policy", "diff", "other.yaml"]),
    "policy history": (policies, ["policy", "history", "--tenant", "acme"]),
    "doctor": (nothing, ["doctor"]),
}
VARYING = re.compile(r"\d[\d.,]* ms|[\d,]+ bytes|owned by .*|process \d+")


def numbers(name: str, text: str) -> Counter[str]:
    found = Counter(NUMBER.findall(VARYING.sub("", text)))
    # The times of a bench, which have one place behind the point, are never the same twice.
    return Counter({n: c for n, c in found.items() if name != "memory bench" or not re.fullmatch(r"\d+\.\d", n)})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_is_whole_and_no_line_is_too_long(name: str, at: At, run: Run, tmp_path: Path) -> None:
    prepare, args = COMMANDS[name]
    prepare(run, tmp_path)
    factors = '{"search_result_count": 3, "search_max_score": 0.8125, "search_avg_score": 0.7, "source_count": 2}\n'
    (tmp_path / "factors.jsonl").write_text(factors + '{"tool_success_rate": 0.5}\n')
    (tmp_path / "other.yaml").write_text("value: {gate: 0.123456}\nredact: {timeout_ms: 123456.75}")
    claim = run("memory", "list").out.split()[7:8] if prepare is claims else []
    case = (
        re.search(r"--explain (\S+)", run("eval", "run", CASES, "--outputs", OUTPUTS).out) if "{case}" in args else None
    )
    filled = [str(arg).format(claim=(claim or [""])[0], case=case[1] if case else "") for arg in args]
    wide = at(WIDE, *filled)
    assert wide.out.strip(), wide.err
    for width in WIDTHS:
        done = at(width, *filled)
        assert (done.code, done.err) == (wide.code, wide.err)
        assert max(map(len, done.out.splitlines())) <= width
        missing = numbers(name, wide.out) - numbers(name, done.out)
        assert not missing, (width, missing, done.out)
