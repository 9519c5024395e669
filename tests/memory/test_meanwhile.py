"""What happens between reading and writing: each test lets somebody else in at the worst moment, every time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.embed import Kind
from scalepan.errors import ConflictError, NotFoundError
from scalepan.memory import Memory
from scalepan.memory.recall.candidates import levels
from scalepan.memory.recall.candidates.columns import ClaimColumns
from scalepan.memory.recall.weigh import weigh
from scalepan.memory.requests import Agree, Backfill
from scalepan.redact import Redactor
from tests.memory.conftest import Open, StandIn
from tests.real.test_memory_races import leftovers


class Interrupted(StandIn):
    """Somebody else does something while a text is encoded, once."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Any] | None = None

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().encode(texts, kind)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Interrupted:
    found = Interrupted()
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: found)
    return found


@pytest.fixture
def memory(tmp_path: Path, encoder: Interrupted) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.duckdb") as memory:
        yield memory


def sound(memory: Memory) -> bool:
    return memory.store.call(
        "memory.agree", Agree(who=memory.who, overlay=memory.overlay)
    ).problems == [] and not leftovers(memory.store)


def test_a_change_of_class_keeps_the_text_that_was_written_meanwhile(memory: Memory, encoder: Interrupted) -> None:
    id_ = memory.add("the old text")
    encoder.meanwhile = lambda: memory.update(id_, text="the new text")
    changed = memory.update(id_, boundary_class="public")
    assert (changed.text, changed.boundary_class) == ("the new text", "public")
    assert memory.get(id_) == changed
    assert [one.text for one in memory.search("new")] == ["the new text"]
    assert sound(memory)


def test_a_new_text_keeps_the_class_that_was_set_meanwhile(memory: Memory, encoder: Interrupted) -> None:
    id_ = memory.add("the old text")
    encoder.meanwhile = lambda: memory.update(id_, boundary_class="secret")
    memory.update(id_, text="not to be kept in clear")
    assert memory.store.sql("SELECT text, boundary_class FROM claims")[0] == ["[secret:claim]", "secret"]
    assert sound(memory)


def test_a_change_of_what_was_forgotten_meanwhile_writes_nothing(memory: Memory, encoder: Interrupted) -> None:
    id_ = memory.add("the old text", entities=["Old"])
    encoder.meanwhile = lambda: memory.forget(id_)
    with pytest.raises(NotFoundError, match=f"no claim '{id_}' here"):
        memory.update(id_, text="the new text", entities=[{"name": "New"}])
    assert sound(memory)
    assert len(memory.store.sql("SELECT 1 FROM entities UNION ALL SELECT 1 FROM claim_vectors")) == 0


def test_a_claim_that_is_shut_to_a_token_meanwhile_is_not_changed(memory: Memory, encoder: Interrupted) -> None:
    id_ = memory.add("the old text", boundary_class="public")
    public = Memory(memory.store, classes=["public"])
    encoder.meanwhile = lambda: memory.update(id_, text="for insiders", boundary_class="internal")
    with pytest.raises(NotFoundError):
        public.update(id_, text="the new text")
    assert memory.get(id_).text == "for insiders"


def test_a_vote_meanwhile_is_kept_and_costs_no_second_vector(memory: Memory, encoder: Interrupted) -> None:
    id_ = memory.add("the old text")
    encoded: list[str] = []
    encode = encoder.encode

    def counted(texts: Sequence[str], kind: Kind = "passage") -> Any:
        encoded.extend(texts)
        return encode(texts, kind)

    encoder.encode = counted  # type: ignore[method-assign]
    encoder.meanwhile = lambda: memory.vote(id_, "helpful")
    changed = memory.update(id_, text="the new text")
    assert encoded == ["the new text"]
    assert (changed.text, changed.utility > 0) == ("the new text", True)
    assert sound(memory)


def test_a_change_that_others_are_always_quicker_than_says_so_and_writes_nothing(
    memory: Memory, encoder: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = memory.add("the old text", boundary_class="internal")
    monkeypatch.setattr("scalepan.memory.ingest.change.MOST_TRIES", 3)

    def quicker() -> None:
        other = {"internal": "public", "public": "internal"}[memory.get(id_).boundary_class]
        memory.update(id_, boundary_class=other)
        encoder.meanwhile = quicker

    encoder.meanwhile = quicker
    with pytest.raises(ConflictError, match=f"claim '{id_}' was changed 3 times while this change was being made"):
        memory.update(id_, text="the new text")
    encoder.meanwhile = None
    assert memory.get(id_).text == "the old text"
    assert sound(memory)


def test_a_link_to_what_was_forgotten_meanwhile(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = memory.add("one"), memory.add("other")
    redact = Redactor.redact

    def interrupted(self: Redactor, text: str) -> Any:
        if text == "after":
            with suppress(NotFoundError):
                memory.forget(other)
        return redact(self, text)

    monkeypatch.setattr(Redactor, "redact", interrupted)
    with pytest.raises(NotFoundError):
        memory.link(one, other, "after")
    assert sound(memory)


def test_an_active_context_without_what_was_forgotten_meanwhile(
    memory: Memory, encoder: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, staying = memory.add("apple pie with cream"), memory.add("apple pie with honey")
    monkeypatch.setattr("scalepan.memory.recall.activate.inputs_of", _then(lambda: memory.forget(going)))
    found = memory.activate("apple pie")
    assert [one.id for one in found] == [staying]
    assert memory.store.sql("SELECT items FROM active_contexts")[0] == [1]
    assert sound(memory)


def test_an_event_about_a_search_does_not_name_what_was_forgotten_meanwhile(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = memory.add("apple pie with cream")
    monkeypatch.setattr("scalepan.memory.recall.activate.recall", _then_recall(lambda: memory.forget(id_)))
    assert [one.id for one in memory.search("apple pie")] == [id_]
    memory.add("a write after that")
    assert sound(memory)


def _then(act: Callable[[], Any]) -> Any:
    """The receipt's inputs, and before the first of them this."""
    from scalepan.memory.receipt import inputs_of

    acts = [act]

    def run(*args: Any) -> Any:
        if acts:
            acts.pop()()
        return inputs_of(*args)

    return run


def _then_recall(act: Callable[[], Any]) -> Any:
    from scalepan.memory.recall.search import recall

    def run(*args: Any) -> Any:
        found = recall(*args)
        act()
        return found

    return run


def test_a_rescan_looks_again_at_what_changed_meanwhile(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    changed, gone = memory.add("ticket one is open"), memory.add("ticket two is open", entities=["Two"])
    stricter = Memory(memory.store, policy={"redact": {"rules": [{"name": "ticket", "pattern": "ticket \\w+"}]}})
    from scalepan.memory.ingest import rescan

    looked_at = rescan._looked_at
    acts: list[Callable[[], Any]] = [
        lambda: memory.update(changed, text="ticket three"),
        lambda: memory.forget(gone),
    ]

    def interrupted(*args: Any) -> Any:
        found = looked_at(*args)
        if acts:
            acts.pop()()
        return found

    monkeypatch.setattr(rescan, "_looked_at", interrupted)
    stricter.rescan()
    assert memory.store.sql("SELECT id FROM claims") == [[changed]]
    assert "three" not in memory.get(changed).text
    assert "open" not in memory.get(changed).text
    assert sound(memory)


def test_a_vector_of_a_text_whose_class_changed_meanwhile_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder: Interrupted | None = None
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: encoder)
    with Memory(tmp_path / "notes.duckdb") as memory:
        memory.add("the text")
    encoder = Interrupted()
    with Memory(tmp_path / "notes.duckdb") as memory:
        # As `memory.update` would, but without a vector of its own.
        encoder.meanwhile = lambda: memory.store.call("test.shut", Backfill())
        from scalepan.memory.requests import Backfilled
        from scalepan.store.operation import Operation, changes, commits, operation

        @commits(Operation("test.shut_it", Backfill, Backfilled))
        def shut_it(here: Any, requests: Sequence[Any]) -> list[Any]:
            for id_ in here.claims.indexable_ids():
                here.claims.update(id_, boundary_class="pii")
            return [Backfilled(0, 0)] * len(requests)

        @changes(Operation("test.shut", Backfill, Backfilled))
        def shut(here: Any, request: Any) -> Any:
            return here.commit(operation("test.shut_it"), request)

        memory.store.call("memory.backfill", Backfill(who=memory.who, overlay=memory.overlay))
        assert len(memory.store.sql("SELECT 1 FROM claim_vectors")) == 0
        assert memory.backfill() == 1


def test_two_encoders_in_one_commit_do_not_share_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan.memory.ingest.add import Keep, keep_claims
    from scalepan.memory.requests import AllAdded

    class Other(StandIn):
        model_id = "other@1"

    mine, other = StandIn(), Other()
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: mine)
    with Memory(tmp_path / "notes.duckdb") as memory:
        requests: list[Keep] = []

        def kept_back(_: Any, name: str, request: Keep) -> AllAdded:
            requests.append(request)
            return AllAdded([])

        monkeypatch.setattr("scalepan.store.here.Here.commit", kept_back)
        memory.store.call("memory.add", _add(memory, "one"))
        monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: other)
        memory.store.call("memory.add", _add(Memory(memory.store, policy={"embed": {"model": "other"}}), "two"))
        assert [request.model for request in requests] == ["stand-in@1", "other@1"]
        monkeypatch.undo()

        from scalepan.store.operation import Operation, commits

        @commits(Operation("test.both", Backfill, Backfill))
        def both(here: Any, _: Any) -> Any:
            keep_claims(here, requests)
            return [Backfill()]

        with pytest.raises(ConflictError, match="the store's vectors are by stand-in@1, not by other@1"):
            memory.store.call("test.both", Backfill())


def _add(memory: Memory, text: str) -> Any:
    from scalepan.memory.claim import NewClaim
    from scalepan.memory.requests import Add

    return Add([NewClaim(text)], who=memory.who, overlay=memory.overlay)


# The index


def test_rows_that_are_not_there_yet_belong_to_nobody() -> None:
    columns = ClaimColumns()
    for column in columns._columns.values():
        column[:] = 1
    columns._reserve(1500)
    assert all(not column[1024:].any() for column in columns._columns.values())


@pytest.mark.parametrize("profile", ["spec", "default"])
def test_a_search_sees_one_state_of_the_index(profile: str, open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(policy={"retrieval": {"profile": profile}})
    id_ = memory.add("apple pie with cream")
    others: list[threading.Thread] = []
    looks: Any = {"spec": levels.index_vectors, "default": weigh}[profile]

    def interrupted(*args: Any, **options: Any) -> Any:
        # Whoever writes now waits until the search is over; without a lock it would be done long before.
        others.append(threading.Thread(target=lambda: memory.update(id_, text="banana bread", boundary_class="pii")))
        others[-1].start()
        others[-1].join(0.3)
        return looks(*args, **options)

    with monkeypatch.context() as patch:
        patch.setitem(levels.VECTOR_LEVELS, "index", interrupted)
        patch.setattr("scalepan.memory.recall.by_evidence.weigh", interrupted)
        found = memory.search("apple")
    assert [one.text for one in found] == ["apple pie with cream"]
    assert others
    for other in others:  # the level is asked twice where it finds little
        other.join()
    assert list(memory.search("apple")) == []


@pytest.mark.parametrize("level", ["L0", "index"])
def test_what_is_shut_while_a_slow_level_searches_is_not_shown(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    id_ = memory.add("apple pie with cream", boundary_class="public")
    slow = Memory(
        memory.store,
        classes=["public"],
        policy={"retrieval": {"text": {"level": level}, "vectors": {"level": "L1"}}},
    )

    def interrupted(*args: Any) -> Any:
        found = levels.l1_exact(*args)
        memory.update(id_, text="apple for insiders", boundary_class="internal")
        return found

    monkeypatch.setitem(levels.VECTOR_LEVELS, "L1", interrupted)
    assert list(slow.search("apple")) == []


def test_masks_are_shared_and_cannot_be_written(memory: Memory) -> None:
    columns = ClaimColumns()
    from scalepan.memory.recall.boundary import reach
    from scalepan.policy.boundary import Boundary

    mask = columns.mask(reach(memory.who, "search", Boundary()))
    with pytest.raises(ValueError, match="read-only"):
        mask |= np.ones(len(mask), dtype=bool)


def test_fitted_curves_keep_a_policy_that_was_set_meanwhile(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    from scalepan.store.policies import SetPolicy, WhosePolicy

    ids = memory.add_many([f"apple {word} pie" for word in ("sweet", "sour", "cold", "hot", "old", "new")])
    labelled = [(f"{word} apple", {ids[n].id}) for n, word in enumerate(("sweet", "sour", "cold", "hot", "old", "new"))]
    dump, acts = yaml.safe_dump, [1]

    def interrupted(*args: Any, **more: Any) -> Any:
        if acts:
            acts.pop()
            memory.store.call("store.set_policy", SetPolicy("value: {gate: 0.5}", "default", "default"))
        return dump(*args, **more)

    monkeypatch.setattr(yaml, "safe_dump", interrupted)
    assert memory.calibrate(labelled * 10)
    said = memory.store.call("store.policy_history", WhosePolicy("default", "default")).changes[0].yaml
    assert "gate: 0.5" in said
    assert "calibration" in said
