"""What repositories promise, whatever runs beside them: an engine with many writers must keep it too."""

from collections.abc import Iterator, Sequence

import duckdb
import msgspec
import pytest

from scalepan.store import Here, Operation, Store, commits
from scalepan.store.duckdb.claims import Claims
from scalepan.store.duckdb.contexts import Contexts
from scalepan.store.duckdb.decisions import Decisions
from scalepan.store.duckdb.events import Events
from scalepan.store.duckdb.labels import Labels
from scalepan.store.duckdb.meta import Meta
from scalepan.store.duckdb.requests import Requests
from scalepan.store.duckdb.schema import MIGRATIONS
from scalepan.store.duckdb.tokens import Tokens
from scalepan.store.duckdb.votes import Votes
from scalepan.store.own import AddEvent, Nothing
from scalepan.store.policies import SetPolicy
from scalepan.store.rows import (
    CLAIMS,
    ClaimRow,
    ContextItemRow,
    ContextRow,
    DecisionRow,
    FeedbackRow,
    LabelRow,
    RequestRow,
    TokenRow,
)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        for script in MIGRATIONS:
            made.execute(script)
        yield made


def decision(id_: str, state: str, *, tenant: str = "t", at: float = 1.0, project: str = "p") -> DecisionRow:
    body = {"state": state, "expires_at": 10.0, "project": project}
    return DecisionRow(id_, at, tenant, None, "confirm", msgspec.json.encode(body).decode())


def test_a_decision_changes_only_while_it_is_pending(connection: duckdb.DuckDBPyConnection) -> None:
    decisions = Decisions(connection)
    decisions.add([decision("a", "pending"), decision("b", "approved")])
    assert decisions.settle("a", "another", "{}") is False
    assert decisions.settle("a", "t", '{"state":"denied"}') is True
    assert decisions.settle("a", "t", '{"state":"approved"}') is False
    assert decisions.settle("b", "t", '{"state":"denied"}') is False
    settled, other = decisions.get("a", "t"), decisions.get("b", "t")
    assert settled is not None
    assert other == decision("b", "approved")
    assert settled.body == '{"state":"denied"}'
    assert decisions.get("a", "another") is None


def test_decisions_newest_first_by_time_and_then_by_order(connection: duckdb.DuckDBPyConnection) -> None:
    decisions = Decisions(connection)
    decisions.add([decision("a", "pending"), decision("b", "denied"), decision("c", "pending", at=0.0, project="q")])
    decisions.add([decision("d", "pending", tenant="u")])
    assert [row.id for row in decisions.newest("t", None, 10)] == ["b", "a", "c"]
    assert [row.id for row in decisions.newest("t", None, 10, pending_at=5.0)] == ["a", "c"]
    assert decisions.newest("t", None, 10, pending_at=10.0) == []
    assert [row.id for row in decisions.newest("t", "q", 10)] == ["c"]
    assert [row.id for row in decisions.newest("t", None, 1)] == ["b"]


def test_a_token_is_revoked_once(connection: duckdb.DuckDBPyConnection) -> None:
    tokens = Tokens(connection)
    row = TokenRow("a", 1.0, "hash", "t", None, '["public"]', None, expires_at=2.5, may_answer=True)
    tokens.add([row])
    assert tokens.get("a") == row
    assert (tokens.revoke("a", 3.25), tokens.revoke("a", 4.0), tokens.revoke("b", 4.0)) == (True, False, False)
    assert tokens.all() == [msgspec.structs.replace(row, revoked_at=3.25)]


def test_the_last_label_counts_whatever_the_clock_says(connection: duckdb.DuckDBPyConnection) -> None:
    labels = Labels(connection)
    labels.add(
        [LabelRow("1", 9.0, "t", "dec_a", "right", None, "{}"), LabelRow("2", 1.0, "t", "dec_a", "wrong", None, "{}")]
    )
    labels.add([LabelRow("3", 1.0, "u", "dec_a", "right", None, "{}")])
    assert {id_: row.label for id_, row in labels.last_of("t", ["dec_a", "dec_b"]).items()} == {"dec_a": "wrong"}
    assert labels.last_of("t", []) == {}


def test_a_request_is_found_by_its_id(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [RequestRow(id_, "store.add_event", "{}", 1.0) for id_ in ("a", "b")]
    Requests(connection).add(rows)
    assert Requests(connection).answered(["b", "c"]) == rows[1:]


def test_meta_is_set_and_read(connection: duckdb.DuckDBPyConnection) -> None:
    meta = Meta(connection)
    assert meta.get("model") is None
    meta.set("model", "one")
    meta.set("model", "two")
    assert meta.get("model") == "two"


def vote(id_: str, claim: str, signal: str = "helpful", previous: str | None = None) -> FeedbackRow:
    body = msgspec.json.encode({"claim": claim, "previous": previous}).decode()
    return FeedbackRow(id_, 1.0, "t", claim, signal, None, None, None, body)


def test_votes_are_undone_once_and_keep_their_order_when_they_move(connection: duckdb.DuckDBPyConnection) -> None:
    votes = Votes(connection)
    for row in (vote("1", "a"), vote("2", "b"), vote("3", "a", "set", "1"), vote("4", "a", "harmful", "3")):
        votes.add(row)
    assert [row.id for row in votes.counting_for("a")] == ["1", "3", "4"]
    assert votes.last_about("a") == "4"
    assert sorted(votes.move("a", "b")) == ["1", "4"]  # what was set by hand stays
    assert [row.id for row in votes.counting_for("b")] == ["1", "2", "4"]
    assert (first := votes.first_about("a")) is not None
    assert first.id == "1"
    votes.move_back(["1"], "a")
    assert [row.id for row in votes.counting_for("a")] == ["1", "3"]
    assert (votes.undo("1", 2.0), votes.undo("1", 3.0)) == (True, False)
    assert [row.id for row in votes.counting_for("a")] == ["3"]
    assert votes.gaps("a") == []
    connection.execute("DELETE FROM feedbacks WHERE id = '3'")
    assert votes.gaps("a") == [("4", "3")]


def claim(id_: str, merged_into: str | None = None) -> ClaimRow:
    told = {
        "project": "p",
        "session": None,
        "text": id_,
        "normalized_text": id_,
        "content_hash": id_,
        "provenance": "{}",
    }
    kept = {"kind": "fact", "scope": "project", "boundary_class": "internal", "created_at": 0.0, "utility_at": 0.0}
    return ClaimRow(id=id_, tenant="t", merged_into=merged_into, utility=0.8, **told, **kept)  # type: ignore[arg-type]


def test_where_votes_for_a_claim_count_in_the_end(connection: duckdb.DuckDBPyConnection) -> None:
    claims = Claims(connection, generation=7)
    CLAIMS.insert(
        connection, [claim("a", "b"), claim("b", "c"), claim("c"), claim("d", "gone"), claim("e", "f"), claim("f", "e")]
    )
    found = [claims.representative(id_) for id_ in "abcde"]
    assert [row and row.id for row in found[:4]] == ["c", "c", "c", None]
    assert found[4] is not None  # a circle, by hand: it ends
    claims.update("c", utility=0.5, utility_at=1_700_000_000.1234567, confidence=0.25)
    row = claims.get("c")
    assert row is not None
    assert (row.utility, row.utility_at, row.confidence) == (0.5, 1_700_000_000.123457, 0.25)
    assert row.generation == 7


def test_what_time_left_of_utility(connection: duckdb.DuckDBPyConnection) -> None:
    CLAIMS.insert(connection, [claim("a"), claim("b", "a")])  # one that was merged does not count
    day = 86400.0
    found = Claims(connection, 0).decayed("utility", 10.0, 10 * day, 20 * day, "t", "p")
    assert found.claims == 1
    assert [found.before, found.after] == pytest.approx([0.4, 0.2])
    assert Claims(connection, 0).decayed("utility", 10.0, None, 10 * day, "t", "p").before == pytest.approx(0.8)
    assert Claims(connection, 0).decayed("quality", 10.0, None, 10 * day, "t", "p") == (0, None, None)


def test_contexts_expire_with_their_items(connection: duckdb.DuckDBPyConnection) -> None:
    contexts = Contexts(connection)
    rows = [ContextRow(id_, "t", "p", None, None, 0.0, end, "v", "{}", 1) for id_, end in (("a", 5.0), ("b", 7.5))]
    contexts.add(rows, [ContextItemRow(row.id, "clm", 1, 0.5, "{}", None) for row in rows])
    assert contexts.count("t", "p", 5.0) == 1
    assert contexts.expire(5.0) == 7.5
    assert (contexts.get("a", "t", "p"), contexts.items("a")) == (None, [])
    assert contexts.get("b", "t", "p") == rows[1]
    assert contexts.get("b", "t", "q") is None
    assert contexts.item("b", "clm") == contexts.items("b")[0]
    assert contexts.expire(8.0) is None


def test_the_last_events_without_some_topics(connection: duckdb.DuckDBPyConnection) -> None:
    events = Events(connection)
    mine = [AddEvent("policy", {}, "t", project="p"), AddEvent("search", {}, "t")]
    first, second, _ = events.add([*mine, AddEvent("policy", 3, "u")])
    assert [row.id for row in events.newest("t", None, 5)] == [second, first]
    assert [row.id for row in events.newest("t", None, 5, ["search"])] == [first]
    assert [row.id for row in events.newest("t", "p", 5)] == [first]


class Number(msgspec.Struct, frozen=True):
    number: int


@commits(Operation("tests.policy_generation", Nothing, Number))
def policy_generation(here: Here, requests: Sequence[Nothing]) -> list[Number]:
    return [Number(here.policies.generation)] * len(requests)


def test_the_generation_of_policies_moves_with_every_commit_that_sets_one(tmp_path: object) -> None:
    def generation() -> int:
        return int(store.call("tests.policy_generation", Nothing()).number)

    with Store(f"{tmp_path}/notes.duckdb") as store:
        first = generation()
        store.call("store.add_event", AddEvent("benchmark"))
        assert generation() == first
        store.call("store.set_policy", SetPolicy("value: {gate: 0.5}", "acme"))
        assert generation() == first + 1
        with pytest.raises(Exception, match="not between 0 and 1"):
            store.call("store.set_policy", SetPolicy("value: {gate: 7}", "acme"))
        assert generation() == first + 1
