"""Pictures: the same Score on a terminal, as SVG and as a page."""

import io
from xml.etree import ElementTree

import pytest
from rich.console import Console

from scalepan.draw import Bins
from scalepan.draw.html import folded, page, section
from scalepan.draw.svg import histogram_svg, score_svg
from scalepan.draw.terminal import bar, histogram, score_table
from scalepan.score import Part, Rule, Score, not_measured

SCORE = Score(
    "value",
    0.6,
    parts=(Part("complexity", 0.5, 0.5, note="a < b & [red]c[/]"), Part("novelty", 0.5, 0.5, "failed", "late")),
    base=0.5,
    rules=(Rule("bonus", 0.5, 0.6, "3 recoveries"),),
    policy="abc",
)


def drawn(thing: object, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(thing)
    return out.getvalue()


@pytest.mark.parametrize(("share", "text"), [(0, ""), (0.5, "█████"), (1, "██████████"), (2, "██████████"), (-1, "")])
def test_a_bar_is_as_long_as_its_share(share: float, text: str) -> None:
    assert bar(share, 10) == text


def test_a_score_on_a_terminal_shows_parts_rules_value_and_where_it_is_not_measured() -> None:
    text = drawn(score_table(SCORE))
    for expected in (
        "complexity",
        "a < b & [red]c[/]",
        "failed: late",
        "+0.250",
        "bonus",
        "+0.100",
        "0.600",
        "policy abc",
    ):
        assert expected in text


def test_what_was_not_measured_is_said_in_every_form() -> None:
    score = not_measured("novelty", "no encoder")
    assert "not measured" in drawn(score_table(score))
    assert "not measured (no encoder)" in score_svg(score)


def test_a_score_as_svg_is_sound_xml_with_a_bar_for_each_step() -> None:
    root = ElementTree.fromstring(score_svg(SCORE))
    bars = [(float(r.get("x", "")), float(r.get("width", ""))) for r in root.iter("{http://www.w3.org/2000/svg}rect")]
    # .25 each of 320 px behind 170 px of labels; the rule adds .1 from .5 on; the value is the whole
    assert bars == [(170.0, 80.0), (250.0, 80.0), (330.0, 32.0), (170.0, 192.0)]
    assert "a < b & [red]c[/]" in "".join(root.itertext())


def test_a_histogram_counts_and_marks() -> None:
    bins = Bins(4)
    for value in (0.1, 0.8, 0.8):
        bins.add(value)
    text = drawn(histogram(bins, marks=[(0.75, "gate")]))
    assert [line.split()[-1] for line in text.splitlines() if line.strip()] == ["1", "0.25", "0.50", "gate"]
    root = ElementTree.fromstring(histogram_svg(bins, threshold=0.75, title="spread"))
    assert "0.75 to 1.00: 2" in "".join(root.itertext())
    assert "gate 0.75" in "".join(root.itertext())


def test_a_page_needs_nothing_else_and_escapes_what_it_is_given() -> None:
    text = page("<b>", [section("a & b", "<p>1</p>"), folded("<more>", "<p>x</p>")])
    assert "<title>&lt;b&gt;</title>" in text
    assert "<h2>a &amp; b</h2>" in text
    assert "<summary>&lt;more&gt;</summary><p>x</p>" in text
    assert "<script" not in text
    assert "://" not in text
    assert "default-src 'none'; style-src 'sha256-" in text
