"""The figures in docs/benchmarks.md rest on these: which documents are drawn, and which half is reported."""

from bench.groundedness import Record, draws, in_half


def test_documents_are_drawn_whole() -> None:
    weights = draws(["b", "a", "b", "c"])
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()


def test_the_halves_share_no_document() -> None:
    records = [Record(document, "", answer, "", True) for document in ("a", "b", "c") for answer in ("x", "y")]
    for record in records:
        assert in_half(record, 0) != in_half(record, 1)
        assert in_half(record, 0) == in_half(record._replace(answer="z"), 0)
