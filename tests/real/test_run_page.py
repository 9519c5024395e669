"""The report of a run in a real browser: it is searched and filtered, and hostile text runs nothing."""

import json
from pathlib import Path

from tests.cli.conftest import Run, run
from tests.evals.test_report import CASES, EVIL, OUTPUTS, RUN
from tests.real.test_report_page import opened, pytestmark

__all__ = ["pytestmark", "run"]

PROBE = """
const seen = [document.title], ids = () => [...document.querySelectorAll(".item")].filter(item => !item.hidden)
  .map(item => item.querySelector(".title").textContent).join(",");
const set = (control, value, event) => { control.value = value; control.dispatchEvent(new Event(event)); };
const [verdict] = document.querySelectorAll("select"), text = document.getElementById("text");
seen.push("all: " + ids());
set(text, "say YES", "input"); seen.push("text: " + ids()); set(text, "", "input");
set(verdict, "1", "change"); seen.push("open: " + ids());
document.body.innerHTML = "<pre></pre>"; document.querySelector("pre").textContent = seen.join("\\n");
"""


def test_the_page_can_be_searched_and_runs_nothing_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(json.dumps(CASES))
    (tmp_path / "outputs.jsonl").write_text("\n".join(map(json.dumps, OUTPUTS)))
    run(*RUN, "--html", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "alert(1)" in page
    assert EVIL not in page
    shown = opened(page, tmp_path)
    assert "<title>Is the output right?</title>" in shown
    assert "4 shown" in shown
    # The policy names the page's own script by its hash: for the probe, the page is allowed to run it.
    probed = opened(_with_probe(page), tmp_path)
    assert "all: evil,edit,none,good" in probed  # the worst first
    assert "text: good" in probed
    assert "open: none" in probed


def _with_probe(page: str) -> str:
    head, _, rest = page.partition("script-src ")
    allowed = f"{head}script-src 'unsafe-inline'{rest[rest.index(chr(34)) :]}"
    return allowed.replace("</body>", f"<script>{PROBE}</script></body>")
