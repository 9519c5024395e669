"""The report in a real browser: its script runs under its own policy, sorts and filters; hostile text runs nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scalepan.redact import Redactor
from scalepan.trace.overview.listing import FOR_PAGE
from scalepan.trace.overview.made import overview_of
from scalepan.trace.report import report_page
from tests.trace.overview.logs import call, logged, result, summed, thought

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--virtual-time-budget=5000", "--dump-dom"),
)
EVIL = "</script><script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
# Three traces: two projects; one call failed, none failed, and no call at all.
TRACES = [
    logged([call("Bash", "1"), result("1", failed=True)], id="kp:trace:1", objective="beta", project="/w/shop"),
    logged(
        [call("Read", "1"), result("1", failed=False), thought()], id="kp:trace:2", objective="alpha", project="/w/shop"
    ),
    logged([thought()], id="kp:trace:3", objective=EVIL, project="/w/docs"),
]
PROBE = """
const seen = [], titles = () => [...document.querySelectorAll(".item")].filter(item => !item.hidden)
  .map(item => item.querySelector(".title").textContent.slice(0, 8)).join(",");
const buttons = [...document.querySelectorAll(".head button")], [project, order] = document.querySelectorAll("select");
const set = (control, value, event) => { control.value = value; control.dispatchEvent(new Event(event)); };
buttons[1].click(); seen.push("name: " + titles());
buttons[1].click(); seen.push("name again: " + titles());
buttons[4].click(); seen.push("failed: " + titles());
set(order, "2,1", "change"); seen.push("steps: " + titles());
set(document.getElementById("text"), "SHOP al", "input"); seen.push("text: " + titles());
set(document.getElementById("text"), "", "input");
set(project, "0", "change"); seen.push("project: " + titles() + " " + document.getElementById("shown").textContent);
document.body.innerHTML = "<pre></pre>"; document.querySelector("pre").textContent = seen.join("\\n");
"""


def opened(page: str, folder: Path) -> str:
    """The document after its script ran."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", (folder / "page.html").as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout


@pytest.fixture
def page() -> str:
    summary, redactor = summed(*TRACES, sizes=FOR_PAGE), Redactor()
    return report_page(overview_of(summary, redactor), summary, redactor)


def test_its_own_script_runs_and_nothing_else(page: str, tmp_path: Path) -> None:
    document = opened(page, tmp_path)
    assert ">3 shown</p>" in document
    assert '<div id="controls">' in document
    assert "<title>How valuable these traces are</title>" in document


def test_text_of_a_log_that_got_in_as_html_would_not_run(page: str, tmp_path: Path) -> None:
    document = opened(page.replace("<body>", f"<body>{EVIL}"), tmp_path)
    assert "owned</title>" not in document
    assert ">3 shown</p>" in document


def test_it_sorts_and_filters(page: str, tmp_path: Path) -> None:
    free = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)  # or the probe could not run
    document = opened(free.replace("</body>", f"<script>{PROBE}</script></body>"), tmp_path)
    (seen,) = re.findall("<pre>(.*?)</pre>", document, re.DOTALL)
    assert seen.splitlines() == [
        "name: &lt;/script,alpha,beta",
        "name again: beta,alpha,&lt;/script",
        "failed: beta,alpha,&lt;/script",  # what says nothing of failures comes last
        "steps: &lt;/script,beta,alpha",
        "text: alpha",
        "project: &lt;/script 1 of 3 shown",
    ]
