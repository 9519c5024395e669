"""Words in the store: unspaced Japanese, characters as they are, and the SQL macros (contract memory.37)."""

import pytest

from scalepan.memory import Memory
from tests.memory.conftest import Open

# Japanese.

SENTENCE = "年間契約のお客様は次回更新日の三十日前までに解約手続きを完了する必要があります"


@pytest.mark.parametrize("morphology", ["auto", "off"])
@pytest.mark.parametrize("word", ["解約", "解約手続き", "お客様", "更新日"])
def test_unspaced_japanese_is_found_by_a_word_in_its_middle(open_memory: Open, morphology: str, word: str) -> None:
    policy = {"embed": {"model": "none"}, "retrieval": {"morphology": morphology}}
    memory = open_memory(policy=policy)
    memory.add_many([SENTENCE, "配送先の住所は注文画面で変更できます"])
    assert memory.search(word)[0].text == SENTENCE
    assert memory.activate(word)[0].text == SENTENCE


@pytest.mark.parametrize("level", ["L2", "L0"])
def test_unspaced_japanese_is_found_at_every_level(open_memory: Open, level: str) -> None:
    memory = open_memory(policy={"embed": {"model": "none"}, "retrieval": {"text": {"level": level}}})
    memory.add_many([SENTENCE, "配送先の住所は注文画面で変更できます"])
    answer = memory.search("解約手続き")
    assert (answer.text_level, [one.text for one in answer]) == (level, [SENTENCE])


def test_ilike_takes_signs_as_they_are_and_width_and_case_as_one(open_memory: Open) -> None:
    memory = open_memory(policy={"embed": {"model": "none"}, "retrieval": {"text": {"level": "L0"}}})
    memory.add_many(["100% of ＡＰＩ_calls", "100 of apixcalls", r"a\b"])
    for query, text in (("100%", "100% of ＡＰＩ_calls"), ("api_CALLS", "100% of ＡＰＩ_calls"), ("a\\b", r"a\b")):
        assert [one.text for one in memory.search(query)] == [text]


# memory.37: the macros.


def test_the_macros_are_there_and_right(memory: Memory) -> None:
    memory.add("q")
    ((cos, low, high, now, half, ahead),) = memory.store.sql(
        "SELECT cos_sim([1.0, 0.0], [1.0, 1.0]), norm_cos(-1.0), norm_cos(0.82), recency_decay(now()::TIMESTAMP, 30), "
        "recency_decay(TIMESTAMP '2026-01-01', 30, moment := TIMESTAMP '2026-01-31'), "
        "recency_decay(TIMESTAMP '2026-02-01', 30, moment := TIMESTAMP '2026-01-31')"
    )
    assert cos == pytest.approx(0.5**0.5)
    assert (low, high) == pytest.approx((0.0, 0.91))
    assert now == pytest.approx(1.0, abs=1e-3)
    assert (half, ahead) == pytest.approx((0.5, 1.0))


def test_terms_of_a_claim_do_not_depend_on_who_added_it(open_memory: Open) -> None:
    """Index and table agree: a claim that is added to a living index is found as after a rebuild."""
    none = {"model": "none"}
    reader = open_memory(policy={"embed": none})
    reader.add("最初の文")
    assert len(reader.search("最初")) == 1
    writer = open_memory(policy={"embed": none, "retrieval": {"morphology": "off"}})
    writer.add("食べられませんでした")
    living = [one.text for one in reader.search("食べる")]
    reader.close()
    writer.close()
    assert [one.text for one in open_memory(policy={"embed": none}).search("食べる")] == living
