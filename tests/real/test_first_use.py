"""The first use of everything that is decoded, in eight threads at once, in real processes.

msgspec looks a type up when it first decodes into it, and shares the result with other threads while it is still half
filled: the interpreter crashed. `python -m tests.real.test_first_use 60` counts crashes over that many processes.
"""

import subprocess
import sys
from collections import Counter

import pytest

from tests.real.stress import rounds

RUNS = rounds(10)
SCRIPT = """
import sys, threading
{imports}

def first():
    {first}

start, errors = threading.Barrier(8), []

def work():
    start.wait()
    try:
        first()
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work) for _ in range(8)]
sys.setswitchinterval(1e-6)
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(f"{{len(errors)}} threads failed: {{errors[0]!r}}" if errors else 0)
"""
FIRST_USES = {
    "policy": ("from scalepan.policy import load_policy", "load_policy(env={})"),
    "wrong policy": (
        "from scalepan.errors import PolicyError\nfrom scalepan.policy import load_policy",
        "try: load_policy(env={}, overrides={'value': {'gaet': 1}})\n    except PolicyError: pass",
    ),
    "score": (
        "import msgspec\nfrom scalepan.receipts.rows import Score",
        "msgspec.convert({'name': 'x', 'value': None, 'status': 'failed', 'reason': 'y'}, Score)",
    ),
    "claim": ("from scalepan.memory.memory import new_claim", "new_claim({'text': 'x', 'entities': ['y']}, 0)"),
    "operations": (
        "import msgspec\nimport scalepan.memory.operations\nfrom scalepan.store.operation import operation",
        "operation('memory.search').request and msgspec.msgpack.decode(b'\\x80', "
        "type=operation('memory.stats').request)",
    ),
    "scorer": (
        "from scalepan.evals.registry import bind\nfrom scalepan.policy import Policy\n"
        "use = [{'type': 'json-equal'}, {'type': 'numeric'}, {'type': 'regex'}]",
        "bind(use, Policy().evals)",
    ),
    "tool": (
        "from scalepan.serve.tools import TOOLS, checked, tool",
        "checked(tool('memory_add'), {'text': 'x', 'entities': [{'name': 'y'}]})",
    ),
}


def exit_codes(name: str, runs: int) -> Counter[int]:
    """How the processes ended: 0 is well, -11 a crash of the interpreter."""
    imports, first = FIRST_USES[name]
    script = SCRIPT.format(imports=imports, first=first)
    codes: Counter[int] = Counter()
    for _ in range(runs):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
        codes[done.returncode] += 1
        if done.returncode == 1:
            raise AssertionError(done.stderr.decode())
    return codes


@pytest.mark.parametrize("name", FIRST_USES)
def test_first_use_in_eight_threads(name: str) -> None:
    assert exit_codes(name, RUNS if name == "policy" else RUNS // 3) == {0: RUNS if name == "policy" else RUNS // 3}


if __name__ == "__main__":
    for use in FIRST_USES:
        print(f"{use:<14}", dict(exit_codes(use, int(sys.argv[1]))), flush=True)
