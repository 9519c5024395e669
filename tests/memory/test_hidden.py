"""A token that opens public claims only cannot tell whether there is a stricter one: every answer is the same.

Each act is done in two stores that differ by internal claims alone. Ids, times and marks of requests are taken out of
the answers; whatever is left must be equal.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.errors import BoundaryError, ConflictError, NotFoundError, ScalepanError
from scalepan.memory import Memory
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from scalepan.receipts import explain
from scalepan.serve import pages
from scalepan.serve.envelope import caller
from scalepan.serve.service import Service, Settings
from scalepan.store import Store
from tests.memory.conftest import Clock

WORDLESS = Policy(embed=Embed(model="none"))
SAME, OTHER = "Salaries are paid on the 25th", "Offices open at nine"
MADE = re.compile(r"\b(clm|fb|rel|ac|scr|evt|req)_[0-9a-f]{20}\b|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\d[T ][\d:.+]+")


def said(act: Callable[[], Any]) -> str:
    """What an act answers, or the error that it ends with."""
    try:
        answer = act()
    except ScalepanError as error:
        return f"{type(error).__name__}: {MADE.sub('_', str(error))}"
    plain = msgspec.to_builtins(answer, enc_hook=str)
    if isinstance(plain, dict):
        plain.pop("took_ms", None)
    return MADE.sub("_", repr(plain))


def both(store: Store) -> tuple[Memory, Memory]:
    """Somebody to whom every class is open, and a token that opens public claims only."""
    return Memory(store, policy=WORDLESS), Memory(store, policy=WORDLESS, classes=["public"])


def acts(public: Memory) -> list[Callable[[], Any]]:
    """What the token does; each is done after the ones before it."""
    made: dict[str, str] = {}

    def keep(name: str, id_: str) -> str:
        made[name] = id_
        return id_

    return [
        lambda: keep("same", public.add(SAME, boundary_class="public")),
        lambda: public.add_many([{"text": SAME, "boundary_class": "public", "entities": ["Salary"]}]),
        lambda: public.get(made["same"]),
        lambda: public.search("salaries paid 25th"),
        lambda: public.activate("salaries paid 25th"),
        lambda: keep("open", public.add(OTHER, boundary_class="public")),
        lambda: public.update(made["open"], text=SAME + " of the month"),
        lambda: public.vote(made["open"], "helpful"),
        lambda: public.vote(made["open"], "duplicate", of=made["same"]),
        lambda: public.add("Chosen", boundary_class="public", id="seven"),
        lambda: public.add("Chosen", boundary_class="public", id="internal-id"),
        lambda: public.search("salary", why="internal-id"),
        lambda: public.get("internal-id"),
        lambda: public.forget("internal-id"),
        lambda: public.link(made["same"], "internal-id"),
        lambda: public.vote("internal-id", "helpful"),
        lambda: public.vote(made["same"], "duplicate", of="internal-id"),
        lambda: public.undo_vote("fb-internal"),
        lambda: explain(public, "internal-id"),
        lambda: explain(public, None),
        lambda: sorted(public.list(), key=lambda claim: claim.text),  # all of one moment, so in the order of their ids
        public.stats,
        public.sweep,
        lambda: public.forget(made["same"]),
    ]


def test_every_answer_is_the_same_with_and_without_a_stricter_claim(tmp_path: Path, clock: Clock) -> None:
    answers = []
    for hidden in (True, False):
        with Store(tmp_path / f"{hidden}.duckdb") as store:
            whole = Memory(store, policy=WORDLESS)
            whole.add("A public note about tea", boundary_class="public")
            if hidden:
                whole.add(SAME, id="internal-id", entities=["Payroll"])
                whole.add(SAME + " of the month")
                whole.vote("internal-id", "helpful")
            answers.append([said(act) for act in acts(Memory(store, policy=WORDLESS, classes=["public"]))])
    for with_it, without_it in zip(*answers, strict=True):
        assert with_it == without_it
    assert not any("Error" in answer for answer in answers[0][:9])


def test_the_newest_number_of_a_hidden_claim_does_not_hide_an_older_one(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        whole, public = both(store)
        public.add("tea at four", boundary_class="public")
        shown = public.activate("tea")
        assert len(shown) == 1
        whole.add("salaries")
        whole.activate("salaries")
        assert explain(public).numbers[0].value == shown[0].score_final.value


def test_what_was_merged_into_a_hidden_claim_is_hidden_too(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        whole, public = both(store)
        id_ = public.add("tea at four", boundary_class="public")
        own = public.vote(id_, "helpful")
        whole.vote(id_, "duplicate", of=whole.add("tea is at four"))
        assert whole.get(id_).merged_into is not None
        for act in (
            lambda: public.get(id_),
            lambda: public.vote(id_, "helpful"),
            lambda: public.update(id_, kind="task"),
            lambda: public.forget(id_),
        ):
            with pytest.raises(NotFoundError, match=f"^no claim '{id_}' here$"):
                act()
        with pytest.raises(NotFoundError, match=f"^no vote '{own.id}' here$"):
            public.undo_vote(own.id)


def test_what_a_stricter_duplicate_is_about_does_not_move_to_a_milder_claim(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        whole = Memory(store, policy=WORDLESS)
        mild = whole.add("tea at four", boundary_class="public", entities=["Tea"])
        strict = whole.add("tea at four with Aoi", entities=["Project Zanzibar"])
        whole.vote(strict, "duplicate", of=mild)
        assert [entity.name for entity in whole.get(mild).entities] == ["Tea"]


def test_whoever_may_see_both_is_told(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        whole, public = both(store)
        strict, mild = whole.add(SAME), public.add(SAME, boundary_class="public")
        assert whole.add(SAME) == strict
        assert whole.add(SAME, boundary_class="public") == mild == public.add(SAME, boundary_class="public")
        assert [one.text for one in whole.search("salaries")] == [SAME]  # one of each content
        with pytest.raises(ConflictError, match=strict):
            whole.update(mild, boundary_class="internal")


def test_an_id_of_another_tenant_is_not_named_as_such(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        Memory(store, policy=WORDLESS, tenant="other").add("theirs", id="seven")
        with pytest.raises(ConflictError, match="id 'seven' cannot be used here: leave it out, and one is made"):
            Memory(store, policy=WORDLESS).add("mine", id="seven")
        with pytest.raises(BoundaryError, match="cannot choose ids"):
            Memory(store, policy=WORDLESS, classes=["public"]).add("mine", id="eight", boundary_class="public")


def test_a_limited_token_reads_no_events_about_claims(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory:
        memory.add(SAME)
        whole = Service(Settings(path), memory.store)
        public = Service(Settings(path, classes=("public",)), memory.store)
        assert [event["topic"] for event in pages.events(whole, caller())] == ["ingest"]
        assert pages.events(public, caller()) == []
