"""Made once per process: by threads that all come at once, after a failure, and after a fork."""

import subprocess
import sys
import threading
import time

import pytest

from scalepan.embed.once import Once


def test_threads_that_come_at_once_get_the_same_one() -> None:
    made: list[object] = []
    start = threading.Barrier(8)

    def make() -> object:
        time.sleep(0.01)  # the others come while it is being made
        made.append(object())
        return made[-1]

    once = Once(make)
    got: list[object] = []

    def ask() -> None:
        start.wait()
        got.append(once())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert got == made * 8


def test_a_failure_is_not_remembered() -> None:
    answers = iter([None, 42])

    def make() -> int:
        answer = next(answers)
        if answer is None:
            raise OSError("not yet")
        return answer

    once = Once(make)
    with pytest.raises(OSError, match="not yet"):
        once()
    assert once() == 42


def in_a_process_of_its_own(script: str) -> list[str]:
    # Forking a process that has threads is what is tested, and what newer Pythons warn of.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return out.stdout.splitlines()


def test_a_forked_child_makes_its_own_and_never_frees_the_parents() -> None:
    script = """
import os
from scalepan.embed.once import Once

class Session:
    def __init__(self): self.pid = os.getpid()
    def __del__(self): print("freed its own" if self.pid == os.getpid() else "freed the parent's", flush=True)

once = Once(Session)
once()
pid = os.fork()
if pid == 0:
    assert once().pid == os.getpid()
else:
    assert os.waitpid(pid, 0)[1] == 0
print("child" if pid == 0 else "parent", flush=True)
del once
"""
    assert in_a_process_of_its_own(script) == ["child", "freed its own", "parent", "freed its own"]


def test_a_fork_waits_for_what_another_thread_is_making() -> None:
    script = """
import os, threading
from scalepan.embed.once import Once

begun, go_on = threading.Event(), threading.Event()
def make():
    begun.set()
    go_on.wait()
    print("made by the parent", flush=True)
    return 1

once = Once(make)
threading.Thread(target=once).start()
begun.wait()
threading.Timer(0.2, go_on.set).start()
pid = os.fork()
if pid == 0:
    print("child", flush=True)
    os._exit(0 if Once(lambda: 2)() == 2 else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    assert in_a_process_of_its_own(script) == ["made by the parent", "child"]
