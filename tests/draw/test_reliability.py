"""The reliability diagram: marks on the scale, and an SVG that parses and says in text what it shows."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scalepan.draw.reliability import SCALE, ReliabilityMark, reliability_svg, reliability_table, scale

MARKS = [ReliabilityMark(0.5, 0.25, 0.1, 0.5, 40), ReliabilityMark(0.95, 0.9, 0.85, 0.95, 1200)]


@pytest.mark.parametrize(
    ("mark", "drawn"),
    [
        (ReliabilityMark(0.0, 1.0, 0.9, 1.0, 1), "○···································────●"),
        (ReliabilityMark(0.5, 0.5, 0.5, 0.5, 1), "│···················◉···················│"),
        (ReliabilityMark(1.0, 0.0, 0.0, 0.1, 1), "●────···································○"),
    ],
)
def test_a_mark_on_the_scale(mark: ReliabilityMark, drawn: str) -> None:
    assert scale(mark) == drawn


@given(st.tuples(*[st.floats(0, 1)] * 4))
def test_a_scale_is_as_wide_as_any_other(at: tuple[float, ...]) -> None:
    low, actual, high = sorted(at[:3])
    drawn = scale(ReliabilityMark(at[3], actual, low, high, 9))
    assert len(drawn) == SCALE + 1
    assert set(drawn) <= set("│·─○●◉")
    assert ("◉" in drawn) != ("●" in drawn)


def test_the_table_fits_80_columns() -> None:
    console = Console(width=80, record=True)
    console.print(reliability_table(MARKS))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines[0].startswith(" said  right  cases  ○ said  ● was right")
    assert lines[1].startswith("0.500  0.250     40  │···──")
    assert max(map(len, lines)) <= 80


def test_the_picture() -> None:
    svg = reliability_svg(MARKS, MARKS[:1], threshold=("SILENT from 0.9 <b>", 0.9), title="confidence & co")
    root = ElementTree.fromstring(svg)
    space = {"svg": "http://www.w3.org/2000/svg"}
    texts = [one.text for one in root.iterfind(".//svg:text", space)]
    assert "SILENT from 0.9 <b>" in texts
    assert "calibrated, held out" in texts
    described = root.find("svg:desc", space)
    assert described is not None
    assert described.text == (
        "Said 0.500: 0.250 right (0.100 to 0.500, 40 cases). Said 0.950: 0.900 right (0.850 to 0.950, 1,200 cases)."
    )
    # Two of the legend and a dot for each mark.
    assert len(root.findall(".//svg:circle", space)) == 2 + 3
    assert "calibrated, held out" not in reliability_svg(MARKS, title="plain")
