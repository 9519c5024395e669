"""How far does a call travel? Files of Scalepan that five everyday acts pass through, and calls from file to file.

    python scripts/hops.py

Each act is done once before it is measured, so that loading and building are not counted. Threads count too: the
writer's is part of an add.
"""

import sys
import tempfile
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

import scalepan
from scalepan.samples import TRACES
from scalepan.trace.readers import TraceLine

HOME = str(Path(scalepan.__file__).parent)


class Hops:
    """Counts calls between files, in every thread that is started after it."""

    def __init__(self) -> None:
        self.active = False
        self.files: set[str] = set()
        self.calls = 0
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        here = frame.f_code.co_filename
        if not self.active or event != "call" or not here.startswith(HOME):
            return
        self.files.add(here)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(HOME):
            self.calls += caller.f_code.co_filename != here

    def measure(self, act: Callable[[], object]) -> tuple[int, int]:
        """Files and hops of one act."""
        act()
        self.files, self.calls, self.active = set(), 0, True
        try:
            act()
        finally:
            self.active = False
        return len(self.files), self.calls


def main() -> None:
    """Print a table of the five acts."""
    hops = Hops()
    every: set[str] = set()
    total = 0
    for name, act in acts().items():
        files, calls = hops.measure(act)
        every, total = every | hops.files, total + calls
        print(f"{name:16} {files:4} files {calls:5} hops")
    print(f"{'all five':16} {len(every):4} files {total:5} hops")


def acts() -> dict[str, Callable[[], object]]:
    """The acts, each on a store and a service of its own."""
    from scalepan.serve.envelope import Caller
    from scalepan.serve.tools import checked, tool
    from scalepan.store import Store

    folder = Path(tempfile.mkdtemp())
    memory = scalepan.Memory(folder / "notes.duckdb")
    for number in range(20):
        memory.add(f"Plan {number} renews on day {number} of the month")
    texts = (f"Invoice {number} is paid" for number in range(1000))
    line = next(line for line in TRACES.read_bytes().splitlines() if line.strip())
    valuer = scalepan.TraceValuer()

    def call(name: str, arguments: dict[str, Any]) -> Callable[[], object]:
        service = _service(Store(folder / "served.duckdb"))
        found = tool(name)
        assert found.run is not None
        run = found.run
        return lambda: run(service, checked(found, arguments), Caller(request_id="r", trace_id="t"))

    def value() -> object:
        (row,) = scalepan.read_jsonl(BytesIO(line), "line")
        assert isinstance(row, TraceLine)
        return valuer.evaluate_value(row.trace)

    return {
        "trace line": value,
        "add": lambda: memory.add(next(texts)),
        "search": lambda: memory.search("when does plan 7 renew?"),
        "POST confidence": call("confidence_score", {"factors": {"search_result_count": 3, "search_max_score": 0.8}}),
        "MCP activate": call("pce_memory_activate", {"query": "when does plan 7 renew?"}),
    }


def _service(store: Any) -> Any:
    from scalepan.serve.service import Service, Settings

    return Service(Settings(), store)


if __name__ == "__main__":
    main()
