"""What memory takes in: names by their grammar, times with a zone, text redacted by the policy in force."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scalepan.errors import InputError
from scalepan.memory import Memory, Provenance
from scalepan.memory.claim import NewClaim
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.memory.test_forget import every_value

WORDLESS = Policy(embed=Embed(model="none"))
ESCAPE = "\x1b[31mred\x1b[0m\x07 \u202eover"
KEY = "AKIA" + "Q3EGRIFSQXZJ7A5B"
OWN = {"embed": {"model": "none"}, "redact": {"rules": [{"name": "ticket", "pattern": "TCK-[0-9]{6}"}]}}
TICKET = "TCK-" + "123456"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "notes.duckdb", policy=OWN)


@pytest.mark.parametrize("field", ["tenant", "project", "session", "trace_id"])
@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[31m", "x" * 201, "<b>", KEY])
def test_a_name_that_is_none_is_refused(tmp_path: Path, field: str, name: Any) -> None:
    with (
        pytest.raises(InputError, match=f"^(claim )?{field}: "),
        Memory(tmp_path / "n.duckdb", **{field: name}) as memory,
    ):
        memory.add("tea")


@pytest.mark.parametrize("id_", ["a b", "a\nb", "a\x1b[31m", "x" * 201, "a'b", KEY])
def test_an_id_that_is_none_is_refused_wherever_it_is_given(memory: Memory, id_: str) -> None:
    with pytest.raises(InputError, match="id: "):
        memory.add("tea", id=id_)
    if id_ != KEY:
        for act in (memory.get, memory.forget, lambda id_: memory.vote(id_, "helpful"), memory.undo_vote):
            with pytest.raises(InputError):
                act(id_)
        with pytest.raises(InputError):
            memory.add_many([NewClaim("tea", id=id_)])


@pytest.mark.parametrize(
    "at", ["yesterday", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", f"2026-01-31T12:00:00Z {KEY}", ""]
)
def test_a_provenance_is_of_a_time_with_a_zone(memory: Memory, at: str) -> None:
    if at:
        with pytest.raises(InputError, match=r"provenance.at: .* is not a time with a zone, such as 2026-01-31T12"):
            memory.add("tea", provenance={"at": at})
        id_ = memory.add("tea")
        with pytest.raises(InputError, match=r"provenance\.at"):
            memory.update(id_, provenance={"at": at})
    else:
        id_ = memory.add("tea", provenance={"at": "2026-01-31T12:00Z"})
        assert memory.get(id_).provenance.at == "2026-01-31T12:00:00+00:00"
        assert memory.update(id_, provenance=Provenance(at="2026-01-31T21:00:00+09:00")).provenance.at == (
            "2026-01-31T21:00:00+09:00"
        )


@pytest.mark.parametrize(("field", "most"), [("actor", 200), ("source", 2_000), ("note", 10_000)])
def test_a_provenance_is_no_page(memory: Memory, field: str, most: int) -> None:
    with pytest.raises(InputError, match=rf"provenance.{field}: has {most + 1:,} characters; at most {most:,} are"):
        memory.add("tea", provenance={field: "x" * (most + 1)})


def fill(memory: Memory) -> None:
    """Put a ticket, a key and an escape into every text that memory takes."""
    dirty = f"{TICKET} {KEY} {ESCAPE}"
    memory.who = type(memory.who)(actor=f"Aoi {dirty}", session="s1")
    id_ = memory.add(
        f"tea {dirty}",
        entities=[{"name": f"Tea {dirty}"}],
        provenance={"actor": f"A {dirty}", "source": f"http://a/{dirty}", "note": dirty},
    )
    other = memory.add(f"tea {TICKET[:-1]}\x07{TICKET[-1]}")  # a control inside must not hide it
    context = memory.activate(f"tea {dirty}").active_context_id
    memory.vote(id_, "helpful", context=context, note=dirty)
    memory.search(f"tea {dirty}")
    memory.update(other, text=f"coffee {dirty}", entities=[{"name": dirty}], provenance={"note": dirty})


def test_every_text_is_redacted_by_the_policy_in_force_before_it_is_kept(memory: Memory) -> None:
    with memory:
        fill(memory)
    kept = every_value(memory.store.path)
    assert [found for found in kept if TICKET in found[2] or KEY in found[2]] == []
    assert [found for found in kept if "\x1b" in found[2] or "\\u001b" in found[2] or "\u202e" in found[2]] == []


def test_what_older_versions_kept_comes_out_clean(
    memory: Memory,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    dirty = f"{TICKET} {ESCAPE}"
    with memory:
        id_ = memory.add("tea", entities=["Tea"])
        path = memory.store.path
    provenance = json.dumps({"at": dirty, "actor": dirty, "source": dirty, "note": dirty})
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE claims SET text = 'tea ' || ?, provenance = ?", [dirty, provenance])
        connection.execute("UPDATE entities SET name = ?", [dirty])
    with Memory(path, policy=OWN) as again:
        shown: list[Any] = [again.get(id_), *again.list(), *(one.claim for one in again.search("tea")), *again.export()]
        for claim in shown:
            assert TICKET not in repr(claim)
            assert "\\x1b" not in repr(claim)
            assert "\\u202e" not in repr(claim)
            assert "'at'" not in repr(claim)
            assert "at='" not in repr(claim).replace("created_at='", "").replace("updated_at='", "")
        again.rescan()
    assert [found for found in every_value(path) if TICKET in found[2]] == []
    for command in (["memory", "get", id_], ["memory", "search", "tea"], ["memory", "list"], ["memory", "stats"]):
        done = run(*command, "--store", path)
        assert done.code == 0
        assert "\x1b[31mred" not in done.out
        assert "\x07" not in done.out
        assert "\u202e" not in done.out
