"""Scripts of the stand-in that the tests here share: what happened is written by hand beside each.

In all of them the first call fails, a later turn makes two calls at once, and the last one is text.
"""

from pathlib import Path

from tests.real.emitters.turns import Turn, call, say, think

PROMPT = "How many lines has a.txt? Write two to b.txt."


def claude(work: Path) -> list[Turn]:
    """Five answers. Call ids: toolu_01_2 (fails), toolu_02_1, toolu_03_0 with toolu_03_1, toolu_04_0."""
    return [
        [think("Count first."), say("I count."), call("Bash", command="wc -l missing.txt", description="Count")],
        [think("Wrong name."), call("Bash", command="wc -l a.txt", description="Count")],
        [call("Read", file_path=str(work / "a.txt")), call("Bash", command="echo two", description="Say two")],
        [call("Write", file_path=str(work / "b.txt"), content="two\n")],
        [say("a.txt has one line; b.txt is written.")],
    ]


def codex() -> list[Turn]:
    """Five answers. Call ids: call_01_1 (fails), call_02_1, call_03_0 with call_03_1, call_04_0 (a patch)."""
    patch = "*** Begin Patch\n*** Add File: b.txt\n+two\n*** End Patch\n"
    return [
        [think("Count first."), call("exec_command", cmd="wc -l missing.txt")],
        [say("Wrong name."), call("exec_command", cmd="wc -l a.txt")],
        [call("exec_command", cmd="echo two"), call("exec_command", cmd="sleep 0.2; echo three")],
        [call("apply_patch", input=patch)],
        [say("a.txt has one line; b.txt is written.")],
    ]


def gemini(work: Path) -> list[Turn]:
    """Five answers. Ids are <tool>__call_01_2 (fails) and so on."""
    return [
        [think("**Counting**\nI count."), say("I count."), call("run_shell_command", command="wc -l missing.txt")],
        [call("run_shell_command", command="wc -l a.txt")],
        [call("read_file", file_path=str(work / "a.txt")), call("run_shell_command", command="echo two")],
        [call("write_file", file_path=str(work / "b.txt"), content="two\n")],
        [say("a.txt has one line; b.txt is written.")],
    ]


def counting() -> list[Turn]:
    """Three answers for scripts that have one tool and one file: of the three calls only that for a.txt succeeds."""
    return [
        [think("Look first."), say("I look."), call("count_lines", path="missing.txt")],
        [call("count_lines", path="a.txt"), call("count_lines", path="b.txt")],
        [say("a.txt has 1 line.")],
    ]


def team(argument: str) -> list[Turn]:
    """Three answers: one agent asks another one by a tool, which answers, and then the first one does."""
    return [
        [call("ask_helper", **{argument: "How long?"})],
        [say("One line.")],
        [say("It has one line.")],
    ]


def mini() -> list[Turn]:
    """Three answers for mini-swe-agent, which ends when a command prints that it is done."""
    return [
        [say("I look."), call("bash", command="wc -l missing.txt")],
        [call("bash", command="wc -l a.txt"), call("bash", command="echo two")],
        [call("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo 1 line")],
    ]


def recorded() -> list[Turn]:
    """Six answers for agents with a helper. Of the calls of count_lines only that for a.txt succeeds."""
    return [
        [think("Look first."), say("I look."), call("count_lines", path="missing.txt")],
        [call("count_lines", path="a.txt"), call("count_lines", path="b.txt")],
        [call("helper", input="Count c.txt.")],
        [call("count_lines", path="c.txt")],  # the helper's
        [say("c.txt is missing.")],  # the helper's
        [say("a.txt has 1 line.")],
    ]
