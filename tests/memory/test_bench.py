"""Bench: hand-worked recall and nDCG, folders and what is wrong with them, pieces of claims, a store's own claims."""

import json
from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from scalepan.draw.bars import Group, Series, bars_svg
from scalepan.errors import InputError
from scalepan.memory import Memory, state
from scalepan.memory.bench.data import BenchQuery, ngram, part_of, read_folder, sample
from scalepan.memory.bench.result import Bench, Level, ndcg_at, recall_at
from scalepan.memory.bench.run import bench_folder, bench_store
from scalepan.memory.recall.search import NO_ENCODER
from scalepan.text import content_hash

AXES = ("apple", "pie", "juice", "sky")


class Counting:
    """An encoder whose vectors can be worked out by hand: how often each of four words is in the text."""

    model_id = "counting@1"
    dimensions = 4

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]:
        rows = [[text.count(word) for word in AXES] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 4)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The encoder above instead of a real one; gives whether each that was found was to remember its vectors."""
    asked: list[bool] = []

    def find(_: object, *, remember: bool) -> Counting:
        asked.append(remember)
        return Counting()

    monkeypatch.setattr(state, "find_encoder", find)
    return asked


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoder and no extension: the least that there can be, and the quickest."""
    monkeypatch.setattr(state, "find_encoder", lambda *_, **__: None)
    monkeypatch.setattr("scalepan.store.duckdb.extensions.find_spec", lambda _: None)


def write(folder: Path, **files: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return folder


CORPUS = [
    {"id": "pie", "text": "apple pie"},
    {"id": "juice", "title": "apple", "text": "apple juice"},
    {"id": "sky", "text": "the sky at noon"},
]
QUERIES = [{"id": "1", "text": "apple"}, {"id": "2", "text": "the sky"}, {"id": "3", "text": "no label"}]
QRELS = [
    {"qid": "1", "doc_id": "juice", "rel": 1},
    {"qid": "1", "doc_id": "sky", "rel": 1},
    {"qid": "2", "doc_id": "sky", "rel": 1},
    {"qid": "2", "doc_id": "pie", "rel": 0},
]


TINY: dict[str, list[dict[str, Any]]] = {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny", **TINY)


def level(done: Bench, name: str) -> Level:
    return next(level for level in done.levels if level.level == name)


@pytest.mark.parametrize(
    ("found", "gold", "k", "recall", "ndcg"),
    [
        (["a", "b"], {"a": 1, "b": 1}, 12, 1.0, 1.0),
        (["x", "a"], {"a": 1}, 12, 1.0, 1 / log2(3)),  # at rank 2
        (["x", "a"], {"a": 1}, 1, 0.0, 0.0),  # cut before it
        (["a", "x", "b"], {"a": 1, "b": 1, "c": 1}, 12, 2 / 3, (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
        (["b", "a"], {"a": 3, "b": 1}, 12, 1.0, (1 + 3 / log2(3)) / (3 + 1 / log2(3))),  # the better one comes second
        (["a"], {"a": 1, "b": 1, "c": 1}, 1, 1 / 3, 1.0),  # no more fit in k: the best that can be
        ([], {"a": 1}, 12, 0.0, 0.0),
    ],
)
def test_recall_and_ndcg(found: list[str], gold: dict[str, float], k: int, recall: float, ndcg: float) -> None:
    assert recall_at(found, gold, k) == pytest.approx(recall)
    assert ndcg_at(found, gold, k) == pytest.approx(ndcg)


def test_every_level_on_a_tiny_corpus(tiny: Path, counting: list[bool]) -> None:
    done = bench_folder(tiny)
    at_two = 1 / log2(3)
    # L0 has 'apple' in pie and juice, newest first and of one moment in the order they came: juice second of two.
    # 'the sky' is found at once. Recall (1/2 + 1) / 2, nDCG (.631 / 1.631 + 1) / 2.
    l0 = level(done, "L0")
    assert l0.recall == pytest.approx(0.75)
    assert l0.ndcg == pytest.approx((at_two / (1 + at_two) + 1) / 2)
    # cos(apple, juice) = 2 / sqrt(5) = .894, with pie .707, with sky 0: juice, pie, sky. Both relevant, at 1 and 3.
    l1 = level(done, "L1")
    assert l1.recall == pytest.approx(1.0)
    assert l1.ndcg == pytest.approx((1.5 / (1 + at_two) + 1) / 2)
    # BM25: juice has apple twice, pie once; sky has none, and is not found.
    l2 = level(done, "L2")
    assert l2.recall == pytest.approx(0.75)
    assert l2.ndcg == pytest.approx((1 / (1 + at_two) + 1) / 2)
    l3 = level(done, "L3")
    assert (l3.recall, l3.ndcg) == (l1.recall, l1.ndcg)
    hybrid = level(done, "hybrid")
    assert hybrid.recall == 1.0
    assert done.claims == 3
    assert done.queries == 2
    assert done.fallback_rate == 0.0
    assert done.model == "counting@1"
    assert "1 query without a relevant document left out" in done.notes
    assert [line.passed for line in done.lines] == [True] * 5
    # Loading may fill the user's cache; asking may not.
    assert counting == [True, False]


def test_what_cannot_run_is_not_measured_and_never_zero(tiny: Path, bare: None) -> None:
    done = bench_folder(tiny, k=1, policy={"retrieval": {"text": {"level": "L2"}}})
    nothing = dict.fromkeys(("recall", "ndcg", "p50_ms", "p90_ms"))
    for name, reason in {
        "L1": NO_ENCODER,
        "L2": "DuckDB's fts extension needs an optional part: pip install 'scalepan[search]'",
        "L3": NO_ENCODER,
    }.items():
        found = level(done, name)
        assert {field: getattr(found, field) for field in nothing} == nothing
        assert found.reason == reason
    # L0 has pie first, which is not relevant to 'apple', and the sky: (0 + 1) / 2. Every search fell back to it.
    for name in ("L0", "hybrid"):
        assert (level(done, name).recall, level(done, name).ndcg) == (0.5, 0.5)
    assert done.fallback_rate == 1.0
    assert [line.passed for line in done.lines] == [False, True, True, None, False]
    assert [line.name for line in done.missed] == ["Recall@1, hybrid", "search_fallback / search"]


def test_a_group_is_searched_by_its_own_queries_only(tmp_path: Path, bare: None) -> None:
    folder = write(
        tmp_path / "grouped",
        corpus=[
            {"id": 1, "conv": "a", "text": "we met in Paris"},
            {"id": 2, "conv": "b", "text": "we met in Paris"},  # the same words elsewhere are another claim
        ],
        queries=[{"id": 1, "conv": "a", "text": "Paris"}, {"id": 2, "conv": "b", "text": "Paris"}],
        qrels=[{"qid": 1, "doc_id": 1}, {"qid": 2, "doc_id": 2}],
    )
    done = bench_folder(folder, group="conv")
    assert (level(done, "hybrid").recall, level(done, "hybrid").ndcg) == (1.0, 1.0)
    assert done.claims == 2


def test_the_files_of_a_folder_are_those_with_the_plain_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", **{f"{name}.dev": rows for name, rows in TINY.items()})
    write(folder, **{"qrels_audited.dev": [{"qid": "3", "doc_id": "pie"}]})
    assert {query.id for query in read_folder(folder).queries} == {"1", "2"}
    (folder / "qrels.dev.jsonl").unlink()
    assert {query.id for query in read_folder(folder).queries} == {"3"}
    write(folder, qrels_other=[])
    with pytest.raises(InputError, match=r"which of these is it: qrels_audited.dev.jsonl, qrels_other.jsonl\?"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("corpus", '{"id": "x", "text": 3}', "corpus.jsonl:1: text: 3 is not text"),
        ("corpus", "[1]", "corpus.jsonl:1: expected an object"),
        ("corpus", "", "has no documents"),
        ("queries", '{"text": "x"}', "queries.jsonl:1: id: is missing"),
        ("queries", "{", "queries.jsonl:1: not JSON"),
        ("qrels", '{"qid": "1", "doc_id": "pie", "rel": "much"}', "qrels.jsonl:1: rel: 'much' is not a number"),
        ("qrels", "", "has no query with a label"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(tiny: Path, file: str, line: str, message: str) -> None:
    (tiny / f"{file}.jsonl").write_text(line)
    with pytest.raises(InputError) as raised:
        read_folder(tiny)
    assert message in str(raised.value)


def test_a_folder_that_is_none_or_lacks_a_file(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not a folder"):
        read_folder(tiny / "corpus.jsonl")
    (tiny / "qrels.jsonl").unlink()
    with pytest.raises(InputError, match=r"no qrels\*.jsonl in it"):
        read_folder(tiny)
    with pytest.raises(InputError, match="conv: is missing"):
        read_folder(tiny, "conv")


def test_labels_for_what_is_not_there_and_for_the_same_text_twice(tiny: Path, bare: None) -> None:
    write(
        tiny,
        corpus=[*CORPUS, {"id": "sky again", "text": "the  sky at noon"}],
        qrels=[{"qid": "2", "doc_id": id_} for id_ in ("sky", "sky again", "gone")],
    )
    done = bench_folder(tiny)
    assert done.claims == 3
    assert level(done, "hybrid").recall == pytest.approx(0.5)  # of two: the claim that both skies are, and what is gone
    assert "1 document with the text of another: one claim for both" in done.notes
    assert "1 label of a document that is not there, counted as not found" in done.notes


def test_a_sample_is_the_same_each_time_and_part_of_a_larger_one() -> None:
    queries = [BenchQuery(str(n), f"query {n}", {"a": 1.0}, group=str(n % 3)) for n in range(50)]
    ten = {query.id for query in sample(queries, 10)}
    assert len(ten) == 10
    assert ten == {query.id for query in sample(list(reversed(queries)), 10)}
    assert ten < {query.id for query in sample(queries, 20)}
    groups = [query.group for query in sample(queries, None)]
    assert groups == sorted(groups)


@pytest.mark.parametrize("text", ["one", "解約", "…", "a b c d e f g h i j k l m n", "解約APIは POST /v1/cancel です"])
def test_a_piece_of_a_text_stands_in_it_and_is_short(text: str) -> None:
    for seed in "abcdefgh":
        piece = ngram(text, seed)
        assert piece in text
        assert len(piece) < len(text) or text in ("one", "解約") or not piece


def test_the_parts_are_eight_to_one_to_one() -> None:
    parts = [_part(str(n)) for n in range(2000)]
    # Binomial: 2,000 draws of .8 and .1 stay within four deviations of 17.9 and 13.4.
    assert 1528 < parts.count("train") < 1672
    assert 146 < parts.count("valid") < 254
    assert 146 < parts.count("test") < 254
    assert parts == [_part(str(n)) for n in range(2000)]


def test_a_bench_on_the_store_itself(tmp_path: Path, bare: None) -> None:
    texts = [f"item{n} lies in room{n} beside door{n} since day{n}" for n in range(40)]
    tested = [text for text in texts if _part(text) == "test"]
    zebra = next(f"zebra {n}" for n in range(100) if _part(f"zebra {n}") == "train")
    with Memory(tmp_path / "own.duckdb", project="mine") as memory:
        ids = {text: added.id for text, added in zip(texts, memory.add_many(texts), strict=True)}
        memory.link(ids[tested[0]], memory.add(zebra))
        done = bench_store(memory)
        assert (done.claims, done.queries) == (41, len(tested))
        # Three or four neighbouring words of a claim are in no other. The zebra shares no word with the first query:
        # of its two relevant claims one is found, at rank 1.
        ndcg = [1 / (1 + 1 / log2(3)), *[1.0] * (len(tested) - 1)]
        for name in ("L0", "hybrid"):
            assert level(done, name).recall == pytest.approx((len(tested) - 0.5) / len(tested))
            assert level(done, name).ndcg == pytest.approx(sum(ndcg) / len(tested))
        # The figures are kept; what was asked is not.
        ((payload,),) = memory.store.sql("SELECT payload FROM events WHERE topic = 'benchmark'")
        assert json.loads(payload)["levels"][-1]["recall"] == level(done, "hybrid").recall
        assert "room" not in payload
        assert memory.who.trace_id is None


def test_labelled_queries(tmp_path: Path, bare: None) -> None:
    with Memory(tmp_path / "own.duckdb") as memory:
        tea = memory.add("Aoi drinks green tea")
        memory.add("Ren drinks coffee")
        done = bench_store(memory, labelled=[("green tea", {tea}), ("coffee", {"clm_gone"}), ("nothing", set())])
    # The first is found first; the second is gone.
    assert (level(done, "hybrid").recall, level(done, "hybrid").ndcg) == (0.5, 0.5)
    assert done.notes == ["2 labelled queries", "1 label of a claim that is not here, counted as not found"]


def test_too_few_claims_are_an_error(tmp_path: Path, bare: None) -> None:
    text = next(text for text in map(str, range(100)) if _part(text) != "test")
    with Memory(tmp_path / "own.duckdb") as memory:
        memory.add(text)
        with pytest.raises(InputError, match="1 claim here, and none falls into the test part"):
            bench_store(memory)
        with pytest.raises(InputError, match="no query has a relevant claim"):
            bench_store(memory, labelled=[("x", set())])


def _part(text: str) -> str:
    class Like:
        content_hash = content_hash(text)

    return part_of(Like())  # type: ignore[arg-type]


def test_the_picture_has_bars_lines_and_what_was_not_measured() -> None:
    svg = bars_svg(
        [Series("Recall@12", 0.7), Series("nDCG@12", 0.45)],
        [Group("L0", (0.5, 0.25)), Group("L1", note="no <encoder> " + "x" * 90)],
        title="a & b",
    )
    root = ElementTree.fromstring(svg)
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names.count("rect") == 2 + 2  # the legend's and the bars
    wide = [float(element.attrib["width"]) for element in root if element.tag.endswith("rect")]
    assert wide[2:] == [210.0, 105.0]  # half and a quarter of 420
    dashed = [element for element in root if "stroke-dasharray" in element.attrib]
    assert [float(line.attrib["x1"]) for line in dashed] == [130 + 0.7 * 420, 130 + 0.45 * 420]
    assert "not measured: no <encoder>" in "".join(root.itertext())
