"""Rows that somebody altered by hand, each in its own way: explain never says `equal` of them, and never fails."""

import shutil
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import msgspec
import pytest

from scalepan.confidence import Gate
from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.receipts import Explained
from tests.memory.test_forget import every_value
from tests.receipts.conftest import FACTORS, WORDLESS, Shop

HUGE = "9" * 400


class Harbor(Shop):
    """The same store, with a second vote, a decision of the same value, and a context of two claims."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self.__dict__ = {**shop.__dict__, "path": folder / "notes.duckdb", "store": None}
        shutil.copy(shop.path, self.path)
        with Memory(self.path, policy=WORDLESS, session="s1") as memory:
            self.second = memory.vote(self.voted, "helpful").id
            self.twin = Gate(store=memory.store).check(FACTORS, "go").id or ""
            found = memory.activate("harbor opens at dawn, harbor closes at night")
            assert {claim.id for claim in found} == {self.voted, self.plain}
            self.pair = found.active_context_id or ""

    def filled(self, text: str) -> str:
        """A query or a line, with ids in place of their names: `<voted>`."""
        for name, id_ in self.__dict__.items():
            text = text.replace(f"<{name}>", str(id_))
        return text

    def said(self, name: str) -> tuple[str, str]:
        """The status, and every difference and reason as lines. It must go over a socket, too."""
        found = self.explain(getattr(self, name))
        sent = msgspec.msgpack.encode(found)
        assert msgspec.msgpack.encode(msgspec.msgpack.decode(sent, type=Explained)) == sent
        lines = [str(one) for number in found.numbers for one in number.differences]
        return found.status, "\n".join(lines + [number.reason for number in found.numbers])


@pytest.fixture(scope="module")
def first_harbor(first_shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    return Harbor(first_shop, tmp_path_factory.mktemp("harbor"))


@pytest.fixture
def harbor(first_harbor: Harbor, tmp_path: Path) -> Iterator[Harbor]:
    harbor = copy(first_harbor)
    harbor.path = tmp_path / "notes.duckdb"
    shutil.copy(first_harbor.path, harbor.path)
    yield harbor
    harbor.close()


def score(change: str) -> str:
    return f"UPDATE scores SET {change} WHERE subject = '<decision>'"


def decision(change: str) -> str:
    return f"UPDATE decisions SET {change} WHERE id = '<decision>'"


def items(change: str) -> str:
    return f"UPDATE active_context_items SET {change} WHERE ac_id = '<pair>'"


def vote(change: str) -> str:
    return f"UPDATE feedbacks SET {change} WHERE id = '<vote>'"


def claim(change: str) -> str:
    return f"UPDATE claims SET {change} WHERE id = '<voted>'"


def patch(column: str, with_: str) -> str:
    return f"{column} = json_merge_patch({column}, '{with_}')"


SWAPPED = (
    "UPDATE active_context_items i SET score_id = o.score_id, score = o.score, features = o.features "
    "FROM (SELECT * FROM active_context_items) o WHERE i.ac_id = '<pair>' AND o.ac_id = i.ac_id "
    "AND o.claim_id <> i.claim_id"
)
OTHERS_ITEM = (
    "UPDATE active_context_items i SET score_id = o.score_id, score = o.score, features = o.features, rank = o.rank "
    "FROM (SELECT * FROM active_context_items) o WHERE i.ac_id = '<pair>' AND o.ac_id = '<context>' "
    "AND o.claim_id = i.claim_id"
)
MISSING = "input: one that was recorded is missing"
DAMAGED = "its stored data is damaged"
LOST = "when it was cast, or where the claim stood then, is gone"
UNSEALED = "the digests of its inputs are missing"
NO_FEATURE = "feature S: stored nothing"
GAP = "vote before <second>: stored nothing, recomputed <vote>"


@pytest.mark.parametrize(
    ("name", "query", "status", "line"),
    [
        # The number of a decision.
        ("decision", score("body = NULL"), "changed", "how it came about: stored nothing, recomputed 0.733"),
        ("decision", score("body = '{}'"), "changed", "how it came about: stored nothing, recomputed 0.733"),
        ("decision", score("body = '[]'"), "changed", "how it came about: stored nothing, recomputed 0.733"),
        ("decision", score("inputs = NULL"), "changed", MISSING),
        ("decision", score("inputs = '[]'"), "changed", MISSING),
        ("decision", score("inputs = NULL, seal = NULL"), "unknown", "without the constants of its formula"),
        ("decision", score("name = 'foo'"), "changed", "no formula makes a 'foo'"),
        ("decision", score("name = NULL, ts = NULL, policy_version = NULL"), "changed", "input name"),
        ("decision", score("subject = 'dec_other'"), "changed", "input subject: dec_other is not what was recorded"),
        ("decision", score("subject = NULL"), "changed", "what its number is about: stored nothing"),
        ("decision", score("seal = NULL"), "unknown", UNSEALED),
        ("decision", score("seal = ''"), "unknown", UNSEALED),
        (
            *("decision", score("seal = NULL, " + patch("inputs", '{"factors": {"search_result_count": 4}}'))),
            *("unknown", UNSEALED),
        ),
        (
            *("decision", score(patch("inputs", f'{{"factors": {{"search_result_count": {HUGE}}}}}')), "changed"),
            "input factors.search_result_count: 999",
        ),
        ("decision", score(patch("inputs", '{"factors": {"x": 1e999}}')), "changed", "input factors.x: 1e999"),
        # The decision itself.
        ("decision", decision("body = NULL"), "changed", "confidence of the decision: stored none, recomputed 0.733"),
        ("decision", decision("body = '[]'"), "changed", "confidence of the decision: stored none, recomputed 0.733"),
        ("decision", decision("body = NULL, ts = NULL, score_id = NULL"), "unknown", "inputs are missing"),
        ("decision", decision(patch("body", f'{{"confidence": {HUGE}}}')), "changed", "stored 999"),
        ("decision", decision("level = NULL"), "changed", "level of the decision: stored nothing, recomputed notify"),
        (
            *("decision", decision("score_id = (SELECT score_id FROM decisions WHERE id = '<twin>')"), "changed"),
            "what its number is about: stored <twin>, recomputed <decision>",
        ),
        # What an active context has in it.
        ("pair", items("features = NULL"), "changed", NO_FEATURE),
        ("pair", items("features = '5'"), "changed", NO_FEATURE),
        ("pair", items("features = '[]'"), "changed", NO_FEATURE),
        ("pair", items(patch("features", f'{{"S": {HUGE}}}')), "changed", "feature S: stored 999"),
        ("pair", items(patch("features", '{"bogus": 1}')), "changed", "feature bogus: stored 1, recomputed nothing"),
        ("pair", items(patch("features", '{"bm25": 77.0}')), "changed", "feature bm25: stored 77"),
        ("pair", items("score = NULL"), "changed", "score in the context: stored nothing"),
        ("pair", items("rank = 3 - rank"), "changed", "rank in the context: stored 1, recomputed 2"),
        ("pair", items("rank = NULL"), "changed", "rank in the context: stored nothing, recomputed 1"),
        (
            *("pair", items("claim_id = CASE claim_id WHEN '<voted>' THEN '<plain>' ELSE '<voted>' END"), "changed"),
            "what its number is about: stored <voted>, recomputed <plain>",
        ),
        ("pair", SWAPPED, "changed", "what its number is about: stored <voted>, recomputed <plain>"),
        ("pair", OTHERS_ITEM, "changed", "context of its number: stored <context>, recomputed <pair>"),
        (
            *("pair", "DELETE FROM active_context_items WHERE ac_id = '<pair>' AND claim_id = '<plain>'", "changed"),
            "claims with their own number: stored 1, recomputed 2",
        ),
        (
            *("pair", "DELETE FROM active_context_items", "changed"),
            "claims with their own number: stored 0, recomputed 2",
        ),
        (
            *("pair", "DELETE FROM claims WHERE id = '<plain>'", "changed"),
            "claims with their own number: stored 1, recomputed 2",
        ),
        ("pair", items("claim_id = NULL"), "changed", "claims with their own number: stored 0, recomputed 2"),
        ("pair", items("score_id = NULL"), "changed", "claims with their own number: stored 0, recomputed 2"),
        ("pair", "UPDATE active_contexts SET items = NULL, created_at = NULL", "unknown", "inputs are missing"),
        ("pair", "UPDATE scores SET seal = NULL WHERE name = 'score_final'", "unknown", UNSEALED),
        # Votes, and what they made of a claim.
        ("voted", "DELETE FROM feedbacks WHERE id = '<vote>'", "changed", GAP),
        ("voted", "DELETE FROM feedbacks WHERE id = '<second>'", "changed", "utility: stored"),
        ("voted", vote("body = NULL"), "changed", GAP),
        ("vote", vote("body = NULL"), "unknown", LOST),
        ("vote", vote("body = '[]'"), "unknown", LOST),
        ("second", "UPDATE feedbacks SET body = NULL", "unknown", LOST),
        ("voted", "UPDATE feedbacks SET body = NULL", "unknown", DAMAGED),
        ("vote", vote("ts = NULL"), "unknown", LOST),
        ("voted", vote("ts = NULL"), "unknown", DAMAGED),
        ("vote", vote("ts = 'infinity'"), "changed", "input at"),
        ("voted", vote("ts = 'infinity'"), "unknown", DAMAGED),
        ("vote", vote("signal = NULL"), "changed", "input signal"),
        ("vote", vote("signal = 'base'"), "changed", "input signal: base is not what was recorded"),
        ("voted", vote("signal = 'base'"), "changed", "input signal of vote <vote>: base is not what was recorded"),
        ("vote", vote("claim_id = '<plain>'"), "changed", "claim of vote <vote>: stored <plain>, recomputed <voted>"),
        ("plain", vote("claim_id = '<plain>'"), "changed", "claim of vote <vote>: stored <plain>, recomputed <voted>"),
        ("voted", vote("claim_id = '<plain>'"), "changed", "utility: stored"),
        ("vote", vote(patch("body", f'{{"before": {{"utility": {HUGE}}}}}')), "changed", "input before.utility: 999"),
        ("voted", vote(patch("body", f'{{"before": {{"utility": {HUGE}}}}}')), "changed", "input before.utility of"),
        ("vote", vote(patch("body", '{"seal": null, "before": {"utility_at": 5}}')), "unknown", UNSEALED),
        ("voted", vote(patch("body", '{"seal": null, "before": {"utility_at": 5}}')), "unknown", UNSEALED),
        ("second", vote("body = NULL").replace("<vote>", "<second>"), "unknown", LOST),
        ("voted", claim("utility = NULL"), "changed", "utility: stored nothing, recomputed 0."),
        ("voted", claim("utility_at = NULL"), "changed", "utility_at: stored nothing"),
        ("voted", claim("confidence = NULL"), "changed", "confidence: stored nothing, recomputed 0.6"),
        ("voted", claim("utility = 'nan', confidence = 'inf'"), "changed", "utility: stored nan"),
        ("voted", claim("utility_at = 'infinity'"), "changed", "utility_at: stored nothing"),
        ("plain", claim("utility = NULL").replace("<voted>", "<plain>"), "unknown", "nobody voted"),
    ],
)
def test_an_altered_row(harbor: Harbor, name: str, query: str, status: str, line: str) -> None:
    harbor.alter(harbor.filled(query))
    found, lines = harbor.said(name)
    assert found == status, lines
    assert harbor.filled(line) in lines
    assert "Error" not in lines


def test_all_of_it_is_equal_before(harbor: Harbor) -> None:
    for name in ("voted", "vote", "second", "context", "pair", "decision", "twin"):
        assert harbor.said(name) == ("equal", "\n" * (len(harbor.explain(getattr(harbor, name)).numbers) - 1)), name


def test_a_context_with_nothing_in_it_is_not_known_to_be_equal(harbor: Harbor) -> None:
    with Memory(harbor.path, policy=WORDLESS) as memory:
        harbor.context = memory.activate("xylophone").active_context_id or ""
    found = harbor.explain(harbor.context)
    assert (found.status, found.numbers) == ("unknown", [])


@pytest.mark.parametrize("gone", ["voted", "plain"])
def test_forgetting_leaves_the_rest_of_a_context_as_it_was(harbor: Harbor, gone: str) -> None:
    id_ = getattr(harbor, gone)
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        memory.forget(id_)
    found = harbor.explain(harbor.pair)
    assert (found.status, len(found.numbers)) == ("equal", 1)
    harbor.close()
    assert [value for value in every_value(harbor.path) if id_ in value[2]] == []
    # One that is deleted by hand is still missed.
    harbor.alter("DELETE FROM active_context_items")
    assert harbor.said("pair") == ("changed", "claims with their own number: stored 0, recomputed 1\n")


def test_a_context_whose_claims_were_all_forgotten_is_empty(harbor: Harbor) -> None:
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        memory.forget(harbor.voted, harbor.plain)
    found = harbor.explain(harbor.pair)
    assert (found.status, found.numbers) == ("unknown", [])


def test_a_duplicate_takes_its_votes_along_and_may_be_forgotten(harbor: Harbor) -> None:
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        memory.vote(harbor.voted, "duplicate", of=harbor.plain)
    for name in ("vote", "second", "plain", "voted", "pair"):
        assert harbor.said(name)[0] == "equal", name
    harbor.close()
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        memory.forget(harbor.voted)
    for name in ("vote", "second", "plain", "pair"):
        assert harbor.said(name)[0] == "equal", name


def test_votes_go_back_to_their_own_claims_in_whatever_order_merges_are_undone(harbor: Harbor) -> None:
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        third = memory.add("The lighthouse is red")
        first_merge = memory.vote(harbor.voted, "duplicate", of=harbor.plain).id
        second_merge = memory.vote(harbor.plain, "duplicate", of=third).id
        memory.undo_vote(first_merge)
        memory.undo_vote(second_merge)
        held = memory.store.sql("SELECT DISTINCT claim_id FROM feedbacks WHERE signal = 'helpful'")
    assert held == [[harbor.voted]]
    for name in ("vote", "second", "voted"):
        assert harbor.said(name)[0] == "equal", name


def test_a_context_of_a_shut_class_does_not_exist(harbor: Harbor) -> None:
    with pytest.raises(NotFoundError):
        harbor.explain(harbor.pair, classes=["public"])
    assert harbor.explain(harbor.pair, classes=["internal"]).status == "equal"


def test_a_vote_names_a_context_of_its_own_project(harbor: Harbor) -> None:
    strangers = [{"project": "else"}, {"tenant": "other"}]
    with Memory(harbor.path, policy=WORDLESS, session="s1") as memory:
        for who in strangers:
            stranger = Memory(memory.store, policy=WORDLESS, **who)  # type: ignore[arg-type]
            theirs = stranger.add("Theirs")
            with pytest.raises(NotFoundError, match="no active context"):
                stranger.vote(theirs, "helpful", context=harbor.pair)
        with pytest.raises(NotFoundError, match="no active context 'ac_none' here"):
            memory.vote(harbor.voted, "helpful", context="ac_none")
        assert memory.store.sql("SELECT count(*) FROM feedbacks") == [[2]]
    harbor.alter("UPDATE active_contexts SET expires_at = TIMESTAMP '2001-01-01'")
    with Memory(harbor.path, policy=WORDLESS, session="s2") as memory:
        with pytest.raises(NotFoundError, match=r"expired at 2001-01-01T00:00:00\+00:00; vote without naming it"):
            memory.vote(harbor.voted, "helpful", context=harbor.pair)
        assert memory.vote(harbor.voted, "helpful").id
