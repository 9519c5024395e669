"""The score against each factor as a picture: sound XML, every name, every point where it belongs."""

from xml.etree import ElementTree

import pytest

from scalepan.draw.bands import BAND_COLORS, FRAME_HEIGHT, FRAME_WIDTH, Curve, bands_svg

BANDS = [("silent", 0.9, 1.0), ("notify", 0.7, 0.9), ("confirm", 0.4, 0.7), ("escalate", 0.0, 0.4)]
XS = [0.0, 0.25, 0.5, 0.75, 1.0]
CURVES: list[Curve] = [
    ("search_max_score", XS, [0.1, 0.2, 0.4, 0.75, 1.0], 0.75, 0.75),
    ("tool_success_rate", XS, [0.0, 0.2, 0.4, 0.6, 0.75], 1.0, 0.75),
    ("source_count", [0, 10], [0.5, 0.75], 10, 0.75),
    ("a < b & c", XS, [0.75] * 5, 0.5, 0.75),
]


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def named(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def frames(root: ElementTree.Element) -> list[tuple[float, float]]:
    """The left upper corner of each chart, in order."""
    outlines = [rect for rect in named(root, "rect") if rect.get("fill") == "none"]
    return [(float(rect.get("x", "")), float(rect.get("y", ""))) for rect in outlines]


def points(line: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.get("points", "").split())]


def test_the_picture_is_sound_and_names_every_factor_and_band() -> None:
    root = parsed(bands_svg(CURVES, BANDS))
    shown = [text.text for text in named(root, "text")]
    for expected in ("search_max_score = 0.75", "tool_success_rate = 1", "source_count = 10", "a < b & c = 0.5"):
        assert expected in shown
    for expected in ("silent 0.9 to 1", "notify 0.7 to 0.9", "confirm 0.4 to 0.7", "escalate 0 to 0.4"):
        assert expected in shown


def test_every_point_is_inside_the_frame_of_its_chart_and_every_frame_inside_the_picture() -> None:
    root = parsed(bands_svg(CURVES, BANDS))
    _, _, width, height = (float(number) for number in root.get("viewBox", "").split())
    lines, dots = named(root, "polyline"), named(root, "circle")
    assert len(frames(root)) == len(lines) == len(dots) == len(CURVES)
    for (left, top), line, dot in zip(frames(root), lines, dots, strict=True):
        for x, y in [*points(line), (float(dot.get("cx", "")), float(dot.get("cy", "")))]:
            assert left <= x <= left + FRAME_WIDTH
            assert top <= y <= top + FRAME_HEIGHT
        assert 0 <= left < left + FRAME_WIDTH <= width
        assert 0 <= top < top + FRAME_HEIGHT <= height
    assert len(set(frames(root))) == len(CURVES)


def test_points_stand_where_their_numbers_are() -> None:
    root = parsed(bands_svg(CURVES[:1], BANDS))
    ((left, top),) = frames(root)
    (line,), (dot,) = named(root, "polyline"), named(root, "circle")
    # of 240 to the right and 150 downward: 0 is at the left, a score of .1 stands 135 below the top
    assert points(line)[0] == (left, top + 135)
    assert points(line)[2] == (left + 120, top + 90)
    assert points(line)[4] == (left + 240, top)
    # .75 is 180 to the right; a score of .75 is 37.5 below the top
    assert (float(dot.get("cx", "")), float(dot.get("cy", ""))) == (left + 180, top + 37.5)


def test_the_bands_fill_the_frame_in_their_colors() -> None:
    root = parsed(bands_svg(CURVES[:1], BANDS))
    ((_, top),) = frames(root)
    filled = [
        rect for rect in named(root, "rect") if rect.get("width") == str(FRAME_WIDTH) and rect.get("fill") != "none"
    ]
    places = [(rect.get("fill"), float(rect.get("y", "")) - top, float(rect.get("height", ""))) for rect in filled]
    # .1, .2, .3 and .4 of 150
    assert places == list(zip(BAND_COLORS, (0, 15, 45, 90), (15, 30, 45, 60), strict=True))


def test_who_cannot_see_it_is_told() -> None:
    root = parsed(bands_svg(CURVES, BANDS, title="How sure"))
    assert (root.get("role"), root.get("aria-label")) == ("img", "How sure")
    title, description = root[0], root[1]
    assert title.text == "How sure"
    assert description.tag.endswith("desc")
    assert "notify: 0.7 to 0.9." in (description.text or "")
    assert "search_max_score is 0.75: the score is 0.750, between 0.100 and 1.000 as it varies." in (
        description.text or ""
    )


def test_it_needs_nothing_else_and_brings_its_own_ground() -> None:
    text = bands_svg(CURVES, BANDS)
    assert "<script" not in text
    assert "href" not in text
    assert text.count("http") == 1  # the name of the format
    _, _, width, height = parsed(text).get("viewBox", "").split()
    assert f'<rect width="{width}" height="{height}" fill="#fff"/>' in text


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 7, 12])
def test_any_number_of_charts(count: int) -> None:
    root = parsed(bands_svg([CURVES[0]] * count, BANDS))
    assert len(set(frames(root))) == count


def test_odd_curves_stay_inside_too() -> None:
    nan = float("nan")
    odd: list[Curve] = [
        ("one value", [2.0], [0.5], 2.0, 0.5),
        ("no curve", [], [], 0.3, 0.5),
        ("beyond", [0.0, 1.0], [-0.5, 1.5], 3.0, 2.0),
        ("with a hole", XS, [0.1, 0.2, nan, 0.4, 0.5], 0.0, 0.1),
    ]
    root = parsed(bands_svg(odd, []))
    assert [len(points(line)) for line in named(root, "polyline")] == [1, 2, 2, 2]
    for (left, top), dot in zip(frames(root), named(root, "circle"), strict=True):
        assert left <= float(dot.get("cx", "")) <= left + FRAME_WIDTH
        assert top <= float(dot.get("cy", "")) <= top + FRAME_HEIGHT
    assert "nan" not in bands_svg(odd, [])


def test_labels_of_thresholds_that_are_close_do_not_cover_each_other() -> None:
    close = [("a", 0.9, 1.0), ("b", 0.89, 0.9), ("c", 0.0, 0.89)]
    shown = [text.text for text in named(parsed(bands_svg(CURVES[:1], close)), "text")]
    assert "0.9" in shown
    assert "0.89" not in shown
