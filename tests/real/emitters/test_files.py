"""Inspect and mini-swe-agent write the files that readers of them depend on."""

import json
import zipfile

from tests.real.emitters import scenes
from tests.real.emitters.agents import Place, inspect, mini
from tests.real.emitters.conftest import Script
from tests.real.emitters.oracles import agent_turns, harbor

ZSTANDARD = 93


def test_an_inspect_log_is_a_zip_of_json_that_is_compressed_with_zstandard(place: Place) -> None:
    with zipfile.ZipFile(inspect(place)) as archive:
        names = set(archive.namelist())
        assert {info.compress_type for info in archive.infolist()} == {ZSTANDARD}
    assert {"header.json", "summaries.json", "samples/right_epoch_1.json", "samples/wrong_epoch_1.json"} <= names


def test_a_mini_trajectory_ends_with_a_status_and_a_submission(stand_in: Script, place: Place) -> None:
    file = mini(stand_in(scenes.mini()), place)
    trajectory = json.loads(file.read_text(encoding="utf-8"))
    assert trajectory["trajectory_format"] == "mini-swe-agent-1.1"
    assert (trajectory["info"]["exit_status"], trajectory["info"]["submission"]) == ("Submitted", "1 line\n")
    tools = {one["tool_call_id"]: one["extra"]["returncode"] for one in trajectory["messages"] if one["role"] == "tool"}
    assert tools == {"call_01_0": 1, "call_02_0": 0, "call_02_1": 0}
    assert [calls for source, calls, _ in agent_turns(harbor(place, "mini-swe-agent", file)) if source == "agent"] == [
        ["call_01_0"],
        ["call_02_0", "call_02_1"],
        ["call_03_0"],
    ]
