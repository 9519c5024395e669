"""Reports of a run: what CI, a pull request and a browser get, whatever is in the texts."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from scalepan.evals.report.markdown import code
from tests.cli.conftest import Run, run

__all__ = ["run"]

EVIL = "</script><script>alert(1)</script> | @team `` ![x](http://evil.example) \x1b[31m ]]> \x00 &amp;"
SECRET = "ann@example.org"
CASES = [
    {"id": "good", "userMessage": "Say yes", "expected": {"output": "yes"}, "group": "words"},
    {"id": "evil", "name": EVIL, "userMessage": f"Write to {SECRET}", "expected": {"output": SECRET + EVIL}},
    {"id": "none", "expected": {"output": "x"}},
    {
        "id": "edit",
        "pages": [{"id": "p<1>", "blocks": [{"id": "b1", "content": "Basket"}, {"id": "b2", "content": "End"}]}],
        "expected": {
            "operations": [
                {
                    "pageId": "p<1>",
                    "operations": [{"type": "replace", "targetBlockId": "b1", "expectedContentPatterns": ["Cart"]}],
                }
            ]
        },
    },
]
REPLACE = {"type": "replace", "targetBlockId": "b1", "content": "<b>Crt</b>"}
OUTPUTS = [
    {"id": "good", "output": "yes", "durationMs": 1500},
    {"id": "evil", "output": EVIL},
    {"id": "edit", "operations": [{"pageId": "p<1>", "operations": [REPLACE]}]},
]
RUN = ["eval", "run", "cases.yaml", "--outputs", "outputs.jsonl"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "cases.yaml").write_text(json.dumps(CASES))
    (tmp_path / "outputs.jsonl").write_text("\n".join(map(json.dumps, OUTPUTS)))
    return tmp_path


def test_junit_has_a_failure_for_what_failed_and_an_error_for_what_was_not_measured(run: Run, suite: Path) -> None:
    assert run(*RUN, "--junit", "j.xml").code == 1
    (tests,) = ElementTree.parse(suite / "j.xml").getroot()
    assert {name: tests.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    found = {case.get("name"): [child.tag for child in case] for case in tests}
    assert found == {"good": [], "evil": ["failure"], "none": ["error"], "edit": ["failure"]}
    good, evil, none, _ = tests
    assert (good.get("classname"), good.get("time")) == ("words", "1.500")
    assert "no output for this case" in (none[0].get("message") or "")
    assert "</script>" in (evil[0].text or "")  # shown as it is, and parsed as text
    assert SECRET not in (suite / "j.xml").read_text()
    run(*RUN, "--junit", "j.xml", "--allow-unmeasured")
    (tests,) = ElementTree.parse(suite / "j.xml").getroot()
    assert (tests.get("errors"), tests.get("skipped"), tests[2][0].tag) == ("0", "1", "skipped")


def test_markdown_says_what_failed_and_nothing_in_it_is_html_a_link_or_a_mention(run: Run, suite: Path) -> None:
    run(*RUN, "--markdown", "m.md")
    text = (suite / "m.md").read_text()
    assert text.startswith("### ❌ 1 of 4 cases passed\n")
    assert "Measured 3 of 4 cases: 25.0% to 50.0% pass." in text
    assert "- **not measured** `none`" in text
    assert SECRET not in text
    # Outside of code spans stands nothing from a case or an output.
    for line in text.splitlines():
        if "alert" in line or "@team" in line:
            fence = line.strip().split(" ")[0]
            assert fence == "`" * len(fence)
            assert line.strip().count(fence) == 2


@pytest.mark.parametrize(
    ("text", "span"),
    [("a", "`a`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("", "` `"), ("a\n\nb", "`a b`"), ("\x1b", "`\\x1b`")],
)
def test_a_code_span_holds_any_text(text: str, span: str) -> None:
    assert code(text) == span


def test_the_page_has_expected_beside_actual_and_what_changed(run: Run, suite: Path) -> None:
    run(*RUN, "--html", "r.html")
    page = (suite / "r.html").read_text()
    assert page.count('<details class="item"') == 4
    assert "default-src 'none'" in page
    assert page.count("<script>") == 1  # the page's own
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>Crt</b>" not in page
    assert '<span class="minus">-Basket\n</span>' in page
    assert '<span class="plus">+&lt;b&gt;Crt&lt;/b&gt;\n</span>' in page
    assert "<th>expected</th><th>actual</th>" in page
    assert SECRET not in page


def test_a_run_that_was_kept_gives_the_same_reports_later(run: Run, suite: Path) -> None:
    kinds = {"--junit": "j.xml", "--markdown": "m.md", "--html": "r.html"}
    run(*RUN, "--name", "main", *[part for pair in kinds.items() for part in pair])
    first = {name: (suite / name).read_bytes() for name in kinds.values()}
    for name in kinds.values():
        (suite / name).unlink()
    assert run("eval", "report", "main", *[part for pair in kinds.items() for part in pair]).code == 0
    assert {name: (suite / name).read_bytes() for name in kinds.values()} == first


def test_repeats_of_a_case_are_one_entry(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump([{"id": "a", "expected": {"output": "x"}}]))
    task = "echo x >> n; [ $(wc -l < n) -eq 2 ] && echo y || echo x"
    args = ["--task", task, "--jobs", "1", "--repeats", "3", "--pass", "2"]
    assert (
        run("eval", "run", "cases.yaml", *args, "--junit", "j.xml", "--markdown", "m.md", "--html", "r.html").code == 0
    )
    (tests,) = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (tests.get("tests"), tests.get("failures")) == ("1", "0")
    assert "Flaky: `a` (2 of 3)" in (tmp_path / "m.md").read_text()
    assert "2 of 3" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["main"], "say which report"),
        (["none", "--html", "r.html"], "cannot be read"),
        (["main", "--html", "no/such/folder/r.html"], "cannot be written"),
    ],
)
def test_what_cannot_be_reported_is_said(run: Run, suite: Path, args: list[str], said: str) -> None:
    run(*RUN, "--name", "main")
    done = run("eval", "report", *args)
    assert (done.code, said in done.err) == (2, True)
