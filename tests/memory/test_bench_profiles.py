"""Which profile is better on a user's data: hand-made differences, and a conversation whose places are kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.memory import Memory, state
from scalepan.memory.bench.compared import QueryFigures, compare
from scalepan.memory.bench.data import read_folder
from scalepan.memory.bench.place import read_place
from scalepan.memory.bench.run import bench_folder
from tests.memory.test_bench import QRELS, QUERIES, write

QUERY_COUNT = 40


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoder: words alone."""
    monkeypatch.setattr(state, "find_encoder", lambda *_, **__: None)


def figures(**ndcg: list[float]) -> dict[str, QueryFigures]:
    return {name: QueryFigures(np.ones(len(values)), np.array(values)) for name, values in ndcg.items()}


FLAT = [0.5] * QUERY_COUNT


@pytest.mark.parametrize(
    ("best", "told"),
    [
        # All differ alike: draws do not differ at all.
        ([0.53] * 40, "best is better than default on your data: nDCG@10 +.030 (+.030 to +.030)"),
        ([0.4] * 40, "default is better than best on your data: nDCG@10 +.100 (+.100 to +.100)"),
        (FLAT, "best and default: no difference that can be told: none differs"),
        ([1.0] * 5 + [0.5] * 35, "best and default: no difference that can be told: 5 queries of 40 differ"),
    ],
)
def test_what_is_said_of_two_profiles(best: list[float], told: str) -> None:
    done = compare(figures(spec=FLAT, default=FLAT, best=best), ["a"] * 40)
    assert done.pairs[0].told(10) == told
    assert done.drawn == "queries"


def test_gains_and_losses_that_even_out_are_no_difference() -> None:
    pair = compare(figures(spec=FLAT, default=FLAT, best=[0.4, 0.6] * 20), ["a"] * 40).pairs[0]
    assert pair.better is None
    assert pair.low is not None
    assert pair.high is not None
    assert pair.low < 0 < pair.high
    assert pair.told(10).startswith("best and default: no difference that can be told: nDCG@10 .000 (-.0")


def test_few_queries_tell_nothing_however_they_differ() -> None:
    pair = compare(figures(spec=[0.0] * 19, default=[0.0] * 19, best=[1.0] * 19), ["a"] * 19).pairs[0]
    assert (pair.ndcg, pair.low, pair.better) == (1.0, None, None)
    assert pair.reason == "19 queries, fewer than 20"


def test_groups_are_drawn_whole_if_there_are_enough() -> None:
    # Of ten groups, five gain .2 in all their queries, and five lose .1: queries alone would be too sure.
    gains = [0.2 if n < 20 else -0.1 for n in range(QUERY_COUNT)]
    both = figures(spec=FLAT, default=FLAT, best=[0.5 + gain for gain in gains])
    alone = compare(both, ["a"] * 40)
    whole = compare(both, [str(n // 4) for n in range(40)])
    assert (alone.drawn, whole.drawn) == ("queries", "groups")
    assert (alone.pairs[0].better, whole.pairs[0].better) == ("best", None)
    assert whole.pairs[0].ndcg == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("row", "place", "unfit"),
    [
        ({"speaker": "Aoi", "turn": 3, "conversation": "c"}, {"speaker": "Aoi", "turn": 3, "conversation": "c"}, ()),
        ({"conv": "c", "session": 2, "turn": 1}, {"conversation": "c/2", "turn": 1}, ()),
        ({"session": 2}, {"conversation": "2"}, ()),
        ({"paragraph": "p1", "position": 0}, {"source": "p1", "position": 0}, ()),
        ({"source": 7}, {"source": "7"}, ()),
        ({"source": "here", "paragraph": "there"}, {"source": "here"}, ()),
        ({"timestamp": "2023-05-08T13:56:00"}, {"said_at": "2023-05-08T13:56:00"}, ()),
        ({"said_at": "last week", "turn": -1, "source": ["a"]}, {}, ("turn", "said_at", "source")),
        ({"timestamp": 1683554160, "position": True}, {}, ("position", "said_at")),
        ({"conv": {"id": 1}, "session": 2}, {}, ("conversation",)),
        ({"source": "x" * 2001, "speaker": ""}, {}, ("source",)),
        ({"thread": "t", "text": "x"}, {}, ()),
    ],
)
def test_a_place_is_read_as_a_claim_has_it(row: dict[str, Any], place: dict[str, Any], unfit: tuple[str, ...]) -> None:
    found, left_out = read_place(row)
    assert found == place
    assert sorted(left_out) == sorted(unfit)


def test_what_no_claim_can_have_is_left_out_and_said(tmp_path: Path) -> None:
    corpus: list[dict[str, Any]] = [
        {"id": "pie", "text": "apple pie", "position": "top"},
        {"id": "juice", "text": "apple juice", "position": 4},
        {"id": "sky", "text": "the sky"},
    ]
    read = read_folder(write(tmp_path / "set", corpus=corpus, queries=QUERIES, qrels=QRELS))
    assert [document.place for document in read.documents] == [{}, {"position": 4}, {}]
    assert "position of 1 document left out: no claim can have it" in read.notes


def test_places_reach_the_claims(tmp_path: Path, bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "id": 1,
        "conv": "c",
        "session": 2,
        "turn": 5,
        "speaker": "Aoi",
        "timestamp": "2023-05-08T13:56:00",
        "source": "chat.txt",
        "text": "we met in Paris",
    }
    given: list[Any] = []
    add_many = Memory.add_many

    def seen(self: Memory, claims: Any, *more: Any, **named: Any) -> Any:
        added = add_many(self, claims, *more, **named)
        given.extend(self.get(one.id) for one in added)
        return added

    monkeypatch.setattr(Memory, "add_many", seen)
    folder = write(
        tmp_path / "set",
        corpus=[row],
        queries=[{"id": 1, "conv": "c", "text": "Paris"}],
        qrels=[{"qid": 1, "doc_id": 1}],
    )
    done = bench_folder(folder, group="conv")
    (claim,) = given
    expected = {"conversation": "c/2", "turn": 5, "speaker": "Aoi", "said_at": "2023-05-08T13:56:00+00:00"}
    assert claim.place() == expected
    assert claim.provenance.source == "chat.txt"
    assert done.compared is not None
    assert [(one.profile, one.ndcg) for one in done.compared.profiles] == [
        ("spec", 1.0),
        ("default", 1.0),
        ("best", 1.0),
    ]


def test_best_is_better_where_neighboring_turns_tell(tmp_path: Path, bare: None) -> None:
    """Every answer says the same of its own; which box it is about, only the turn before it says."""
    corpus: list[dict[str, Any]] = []
    for n in range(30):
        told = {"conversation": f"c{n}", "timestamp": "2023-05-08T13:56:00"}
        corpus += [
            {"id": f"asked {n}", "turn": 1, "text": f"where did box{n} go", **told},
            {"id": f"told {n}", "turn": 2, "text": f"it is on a shelf in room{n * 7}", **told},
        ]
    folder = write(
        tmp_path / "set",
        corpus=corpus,
        queries=[{"id": n, "text": f"on which shelf is box{n}"} for n in range(30)],
        qrels=[{"qid": n, "doc_id": f"told {n}"} for n in range(30)],
    )
    done = bench_folder(folder)
    assert done.compared is not None
    pair = done.compared.pairs[0]
    assert (pair.profile, pair.than, pair.better) == ("best", "default", "best")
    assert pair.told(12).startswith("best is better than default on your data: nDCG@12 +.")
    # Without turns the same texts are the same to both.
    plain = [{"id": row["id"], "text": row["text"]} for row in corpus]
    without = bench_folder(write(folder, corpus=plain))
    assert without.compared is not None
    assert without.compared.pairs[0].better is None
