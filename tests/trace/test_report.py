"""The page of a run: it needs nothing from outside, runs nothing but its own script, and shows logged text as text."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from scalepan.draw.browse import Item, browsed
from scalepan.draw.weeks import Week, weeks_svg
from scalepan.errors import InputError
from scalepan.redact import Redactor
from scalepan.trace.overview.listing import FOR_PAGE, ListSizes
from scalepan.trace.overview.made import overview_of
from scalepan.trace.readers import BadRow
from scalepan.trace.report import report_page
from scalepan.trace.summary import Summary
from tests.cli.test_hostile_text import ACTS
from tests.cli.test_hostile_text import EVIL as CONTROLS
from tests.trace.overview.logs import call, logged, result, summed, thought
from tests.trace.traces import trace

SECRET, MAIL = "ghp_" + "R7wq9LzT2" * 4, "hanako@" + "example.com"
HTML = "</style></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='x' &lt;b&gt; <!-- ]]>"
EVIL = f"{HTML} {CONTROLS} {SECRET} {MAIL} שלום {'long ' * 2000}"
VOID = {"meta", "input", "br"}


class PageReader(HTMLParser):
    """Tags, attributes and text of a page; every tag must be closed by its own."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page_of(summary: Summary) -> str:
    redactor = Redactor()
    return report_page(overview_of(summary, redactor), summary, redactor)


def read(page: str) -> PageReader:
    reader = PageReader()
    reader.feed(page)
    reader.close()
    assert reader._open == []
    return reader


@pytest.fixture(scope="module")
def hostile() -> str:
    """A page in which every text of the logs is hostile."""
    everywhere: dict[str, Any] = dict.fromkeys(("format", "project", "session", "parent", "model"), EVIL)
    one = logged(
        [call(EVIL, "1"), result("1", failed=True), call(EVIL, "2"), result("2", failed=False)],
        id=f"kp:trace:{EVIL}",
        objective=EVIL,
        domain=EVIL,
        **everywhere,
    )
    summary = summed(one, one, logged(at="2026-03-01T00:00:00Z"), trace(id="kp:trace:n"), encoder=Same())
    summary.add(BadRow(1, InputError(EVIL, file=EVIL, path=EVIL, line=1)))
    return page_of(summary)


class Same:
    """Every text is like every other, and the note of novelty quotes the id of the nearest."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]


def test_logged_text_is_never_html(hostile: str) -> None:
    page = read(hostile)
    names = {name for name, _ in page.tags}
    assert "img" not in names
    assert len(page.named("script")) == len(page.named("style")) == 1
    assert not [attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)]
    assert any("<img src=x onerror=alert(1)>" in text for text in page.texts)


def test_logged_text_is_redacted_and_acts_on_nothing(hostile: str) -> None:
    for secret in (SECRET, SECRET[:14], MAIL):
        assert secret not in hostile
    assert "[secret:github-token]" in hostile
    assert ACTS.search(hostile) is None


def test_nothing_comes_from_outside(hostile: str) -> None:
    page = read(hostile)
    for name, attributes in page.tags:
        for attribute in ("src", "href", "action", "data", "style", "srcset", "poster", "formaction", "ping"):
            value = attributes.get(attribute)
            assert value is None or value.startswith("#"), (name, attribute, value)
    assert "://" not in hostile
    assert "@import" not in hostile
    assert "url(" not in hostile


def test_the_page_allows_its_own_style_and_script_and_nothing_else(hostile: str) -> None:
    (policy,) = (meta["content"] for meta in read(hostile).named("meta") if "http-equiv" in meta)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", hostile, re.DOTALL)
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}


def test_a_row_of_hostile_text_is_bounded() -> None:
    short = page_of(summed(logged()))
    long = page_of(summed(logged(objective=EVIL * 20, project=EVIL * 20, model=EVIL * 20)))
    assert len(long) - len(short) < 20_000


def test_rows_stand_in_order_of_value_each_with_its_waterfall() -> None:
    traces = [trace(id=f"kp:trace:{at}", confidence=at / 10, objective=f"task {at}") for at in (3, 9, 0, 7)]
    page = read(page_of(summed(*traces, sizes=FOR_PAGE)))
    texts = [text for text in page.texts if text.startswith("task ")]
    assert texts[-4:] == ["task 9", "task 7", "task 3", "task 0"]
    rows = [attributes for attributes in page.named("details") if attributes.get("class") == "item"]
    assert [attributes["data-facets"] for attributes in rows] == ["[]"] * 4  # nothing to filter by
    assert len(page.named("svg")) == 1 + 4  # how values are spread, and each trace
    assert page.texts.count("zero_diversity_penalty") == 4 * 2  # in the picture and in the notes


def test_controls_are_hidden_until_the_script_runs() -> None:
    page = read(page_of(summed(trace(), logged(id="kp:trace:2"))))
    (controls,) = (attributes for attributes in page.named("div") if attributes.get("id") == "controls")
    assert "hidden" in controls
    assert all("disabled" in attributes for attributes in page.named("button"))
    assert not [attributes for attributes in page.named("details") if "hidden" in attributes]


def test_filters_are_there_where_there_is_something_to_choose() -> None:
    page = page_of(summed(logged(project="/w/a"), logged(project="/w/b", id="kp:trace:2")))
    assert '<label>Project<select><option value="">all</option><option value="0">/w/a</option>' in page
    assert "<label>Domain" not in page
    assert "<label>Format" not in page


def test_a_long_run_shows_some_and_says_so() -> None:
    sizes = ListSizes(whole=5, best=3, worst=2, sample=2)
    traces = [trace(id=f"kp:trace:{at}", confidence=at / 100, objective=f"task {at}") for at in range(60)]
    page = page_of(summed(*traces, sizes=sizes))
    shown = len(re.findall('<details class="item"', page))
    assert 5 <= shown <= 7
    assert f"The best, the worst and a random sample: {shown} of 60 traces." in page
    assert page_of(summed(*traces[:3], sizes=sizes)).count("random sample") == 0


def test_sections_appear_only_where_they_say_something() -> None:
    page = page_of(summed(logged(at=None)))
    for heading in ("Week by week", "By project", "By tool", "The worst", "Exact repeats", "Rejected", "What stands"):
        assert heading not in page
    assert "Not measured" in page


def test_weeks_without_a_trace_are_gaps() -> None:
    drawn = weeks_svg([Week("2026-01-05", 4, 0.5, 0.1), Week("2026-01-26", 2, 0.7, None)], title="by week")
    root = ElementTree.fromstring(drawn)
    bars = [float(bar.get("height", "")) for bar in root.iter("{http://www.w3.org/2000/svg}rect")]
    # 4 and 2 of at most 4 in a strip of 56; 10 % of failures on a scale that ends at 20 %
    assert bars == [56.0, 28.0, 28.0]
    circles = [float(dot.get("cx", "")) for dot in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert circles[1] - circles[0] == 3 * 40  # three weeks later, at 40 a week
    assert not list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert "week of 2026-01-05: 4 traces, median value 0.50, 10 % of calls failed" in "".join(root.itertext())


def test_no_week_no_picture_that_breaks() -> None:
    ElementTree.fromstring(weeks_svg([], title="nothing"))
    long = [Week(f"{year}-01-0{8 - (year % 7 or 7)}", 1) for year in (2001, 2026)]
    assert weeks_svg(long, title="years").count("<rect") == 1  # the last year of weeks


def test_keys_of_a_row_survive_as_json() -> None:
    item = Item((0.5, "<a>'\"", None), (1,), "0.500", False, "t", "a", ("",), "")
    (row,) = (attributes for attributes in read(browsed(["Value", "Name", "Day"], {}, [item])).named("details"))
    assert row["data-keys"] == '[0.5,"<a>\'\\"",null]'


def test_a_thought_has_a_page_too() -> None:
    assert "one thought and nothing else" in page_of(summed(logged([thought()])))
