"""Hooks are added to the settings of Claude Code; nothing that is there is lost."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.trace.hooks.settings import CommandHook, as_text, read_settings, with_hooks, write_settings

HOOK = CommandHook("SessionEnd", "scalepan value --hook x", "value --hook x", 30)
ENTRY = {"type": "command", "command": "scalepan value --hook x", "timeout": 30}
THEIRS = {"type": "command", "command": "theirs"}
FILE = Path("settings.json")


def ends(*groups: Any) -> dict[str, Any]:
    return {"hooks": {"SessionEnd": list(groups)}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, ends({"hooks": [ENTRY]})),
        ({"model": "x"}, {"model": "x", **ends({"hooks": [ENTRY]})}),
        (ends({"hooks": [THEIRS]}), ends({"hooks": [THEIRS]}, {"hooks": [ENTRY]})),
        ({"hooks": {"Stop": [1]}}, {"hooks": {"Stop": [1], "SessionEnd": [{"hooks": [ENTRY]}]}}),
        # It is there already.
        (ends({"hooks": [THEIRS, ENTRY]}), ends({"hooks": [THEIRS, ENTRY]})),
        # The program moved; a timeout that somebody set stays.
        (
            ends({"hooks": [{"type": "command", "command": "/old/python -m scalepan value --hook x", "timeout": 5}]}),
            ends({"hooks": [{**ENTRY, "timeout": 5}]}),
        ),
        # Somebody added options to it.
        (
            ends({"hooks": [{"type": "command", "command": "scalepan value --hook x --keep"}]}),
            ends({"hooks": [{"type": "command", "command": "scalepan value --hook x --keep"}]}),
        ),
        # What is not understood stays.
        (ends(5, {"hooks": 5}, {"hooks": [5]}), ends(5, {"hooks": 5}, {"hooks": [5]}, {"hooks": [ENTRY]})),
    ],
)
def test_where_the_hook_goes(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert with_hooks(before, [HOOK], FILE) == after


def test_a_hook_about_tools_has_a_matcher() -> None:
    made = with_hooks({}, [CommandHook("PreToolUse", "ask", "ask", matcher="Bash")], FILE)
    assert made == {
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "ask"}]}]},
    }


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ({"hooks": []}, "settings.json: hooks: is not an object; nothing was written"),
        ({"hooks": {"SessionEnd": {}}}, r"settings.json: hooks\.SessionEnd: is not a list; nothing was written"),
    ],
)
def test_settings_of_another_shape(before: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_hooks(before, [HOOK], FILE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1,}', "is not valid JSON"),
        (b'{"a": 1, "a": 2}', "the key 'a' is there twice"),
        (b"[]", "is not a JSON object"),
        (b"\xff", "is not UTF-8 text"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_settings(file)
    assert file.read_bytes() == text


@pytest.mark.parametrize("text", [None, b"", b" \n", b"{}", b"\xef\xbb\xbf{}"])
def test_settings_that_say_nothing(tmp_path: Path, text: bytes | None) -> None:
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_bytes(text)
    assert read_settings(file) == {}


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{\n\t"name": "caf\u00e9"\n}\n', encoding="utf-8")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    write_settings(link, read_settings(link) | {"a": 1})
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == '{\n\t"name": "caf\u00e9",\n\t"a": 1\n}\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [file.name for file in real.parent.iterdir()] == ["settings.json"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file")
    with pytest.raises(InputError, match=r"settings\.json: cannot be "):
        write_settings(tmp_path / ".claude" / "settings.json", {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["SessionEnd", "Stop"]), st.lists(JSON, max_size=3)), JSON)
def test_whatever_is_there_stays_and_twice_is_once(events: dict[str, Any], other: Any) -> None:
    before = {"other": other, "hooks": events}
    after = with_hooks(before, [HOOK], FILE)
    assert with_hooks(after, [HOOK], FILE) == after
    assert after["other"] == other
    assert after["hooks"].get("Stop") == events.get("Stop")
    assert after["hooks"]["SessionEnd"][: len(events.get("SessionEnd", []))] == events.get("SessionEnd", [])
    assert json.loads(as_text(after)) == after
