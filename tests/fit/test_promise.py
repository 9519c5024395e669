"""Promises: sentences, levels in order, groups, and what is missing."""

import numpy as np
import pytest

from scalepan.errors import InputError
from scalepan.fit.fitted import fit
from scalepan.fit.labels import LabeledNumbers, labels_of
from scalepan.fit.promise import PromisedLevel, promise
from tests.fit import populations

SILENT = PromisedLevel("SILENT", "acts alone on", 0.05)


def rights(count: int, wrong: int = 0) -> LabeledNumbers:
    """Equal numbers, some of them wrong."""
    return labels_of((n, {"value": 0.8, "label": int(n >= wrong)}) for n in range(count))


def test_the_sentence() -> None:
    found = promise(rights(100), SILENT, 0.95)
    assert found.text == "SILENT from 0.8: at most 5 % wrong, 95 % sure, acts alone on 100 %"
    assert (found.let_through, found.wrong, found.more_labels) == (100, 0, None)


def test_more_labels_would_allow_more() -> None:
    many = promise(populations.overconfident(1000), PromisedLevel("SILENT", "acts alone on", 0.3), 0.95)
    assert many.threshold is not None
    assert many.more_labels
    assert many.more_coverage is not None
    assert many.more_coverage > many.coverage
    allowed = f"about {many.more_labels:,} more labels would allow {many.more_coverage:.0%}".replace("%", " %")
    assert many.text.endswith(f"acts alone on {many.coverage:.0%}; {allowed}".replace("%;", " %;"))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (rights(40), "it takes at least 59 labels, and there are 40; about"),
        (
            rights(100, wrong=50),
            "even the surest cases are wrong in about 50 %, so more labels",
        ),
        (rights(100, wrong=4), "100 labels are too little evidence; about"),
    ],
)
def test_what_is_missing(labels: LabeledNumbers, said: str) -> None:
    found = promise(labels, SILENT, 0.95)
    assert found.threshold is None
    assert found.text.startswith("SILENT: no promise of at most 5 % wrong, 95 % sure: ")
    assert said in found.text


def test_as_many_labels_as_are_said_to_be_missing_do_suffice() -> None:
    labels = populations.sharp(80)
    missing = promise(labels, SILENT, 0.95)
    assert missing.threshold is None
    assert missing.more_labels is not None
    given = [
        promise(populations.sharp(80 + missing.more_labels, seed), SILENT, 0.95).threshold for seed in range(1, 21)
    ]
    assert sum(one is not None for one in given) >= 12


def test_levels_never_rise() -> None:
    for seed in range(5):
        found = fit("confidence", populations.sharp(1000, seed))
        silent, notify, confirm = (one.threshold for one in found.promises)
        assert silent is not None
        assert notify is not None
        assert confirm is not None
        assert silent >= notify >= confirm
        assert [one.max_error for one in found.promises] == [0.05, 0.1, 0.5]


def test_a_stricter_promise_is_a_looser_one_too() -> None:
    # The test of the looser promise may fail by chance; the stricter threshold keeps it all the same.
    found = promise(rights(10), PromisedLevel("NOTIFY", "acts on", 0.1), 0.95, within=0.9)
    assert found.threshold == 0.9


def test_groups_get_a_threshold_of_their_own_where_labels_allow() -> None:
    good, few = populations.sharp(1000, 1, group="good"), populations.sharp(30, 2, group="few")
    bad = populations.drawn(np.linspace(0, 1, 200), np.arange(200) % 2 == 0, "bad")
    found = fit("confidence", populations.together(good, few, bad))
    by_name = {one.group: one for one in found.groups}
    assert list(by_name) == ["good", "bad", "few"]  # the largest first
    assert (by_name["good"].own, by_name["few"].own, by_name["bad"].own) == (True, False, False)
    assert by_name["good"].promises[0].labels == 1000
    assert by_name["few"].promises == found.promises  # pooled


def test_a_group_is_promised_only_what_holds_for_it() -> None:
    broken = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        stated = random.random(200)
        bad = populations.drawn(stated, random.random(200) < 0.94, "bad")  # 6 % wrong at any threshold
        found = fit("value", populations.together(bad, populations.sharp(300, seed, group="good")))
        broken += next(one.own for one in found.groups if one.group == "bad")
    assert broken <= 10  # 5 % expected at most


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_error": 0.0}, "max_error"),
        ({"sure": 1.0}, "sure"),
        ({"max_error": 0.2, "notify_error": 0.1}, "a looser level cannot allow fewer errors"),
        ({"notify_error": 0.7, "confirm_error": 0.6}, "a looser level cannot allow fewer errors"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named):
        fit("confidence", rights(100), **options)


def test_an_unknown_number_and_no_labels() -> None:
    with pytest.raises(InputError, match="no number 'luck'; there are confidence, value, memory, judge"):
        fit("luck", rights(3))
    with pytest.raises(InputError, match="no good row"):
        fit("value", labels_of([]))


def test_high_errors_stay_in_order() -> None:
    found = fit("confidence", rights(100), max_error=0.6)
    assert [one.max_error for one in found.promises] == [0.6, 0.6, 0.6]
