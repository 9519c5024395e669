"""The end of a process: what is under way is stopped or waited for, and nothing new begins."""

import subprocess
import sys

import pytest

HEAD = """
import threading, time
import scalepan.exits
from scalepan.exits import before_exit
started, said = threading.Event(), []
def in_thread(work):
    threading.Thread(target=work, daemon=True).start()
    started.wait(10)
"""


def ended(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", HEAD + script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def test_an_exit_waits_for_what_is_under_way() -> None:
    script = """
def work():
    with before_exit():
        started.set()
        time.sleep(0.3)
        print("done", flush=True)
in_thread(work)
"""
    assert ended(script) == "done\n"


def test_an_exit_stops_what_can_be_stopped() -> None:
    script = """
stop = threading.Event()
def work():
    with before_exit(stop.set):
        started.set()
        print(stop.wait(30), flush=True)
in_thread(work)
"""
    assert ended(script) == "True\n"


@pytest.mark.parametrize(("thread", "said"), [("daemon", "the process is ending"), ("main", "fine")])
def test_nothing_begins_at_the_end_but_in_the_main_thread(thread: str, said: str) -> None:
    """An atexit function that was registered earlier runs later, and may still encode."""
    script = f"""
import atexit
def work():
    try:
        with before_exit():
            print("fine", flush=True)
    except Exception as error:
        print(error, flush=True)
def late():
    if "{thread}" == "main":
        work()
    else:
        started.set()
        time.sleep(0.3)
atexit.unregister(scalepan.exits._native.end)
atexit.register(late)
atexit.register(scalepan.exits._native.end)
def wait():
    started.wait(30)
    work()
threading.Thread(target=wait, daemon=True).start()
"""
    assert ended(script) == f"{said}\n"


def test_an_exit_does_not_wait_for_ever() -> None:
    script = """
scalepan.exits.WAIT_SECONDS = 0.2
def work():
    with before_exit():
        started.set()
        time.sleep(1000)
in_thread(work)
"""
    assert ended(script) == ""


def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent() -> None:
    script = """
import os, warnings
warnings.simplefilter("ignore")  # from 3.12 on, Python warns of every fork beside threads
stop = threading.Event()
def work():
    with before_exit(stop.set):
        started.set()
        stop.wait(30)
in_thread(work)
child = os.fork()
if not child:
    assert not scalepan.exits._native.calls
    raise SystemExit(0)
print(os.waitpid(child, 0)[1])
"""
    assert ended(script) == "0\n"
