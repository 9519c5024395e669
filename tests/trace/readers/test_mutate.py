"""The damage itself: repeatable, varied, and survived by the native reader."""

import json

import pytest

from scalepan.trace.readers.native import READER
from tests.trace.readers.mutate import damaged, read_damaged
from tests.trace.traces import trace_dict

LINES = b"".join(json.dumps(trace_dict(id=f"kp:trace:{number}")).encode() + b"\n" for number in range(3))
SAMPLES = {"lines": LINES, "document": LINES.split(b"\n")[0], "bytes": b"PK\x03\x04" + bytes(range(256)), "empty": b""}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_same_seed_gives_the_same_damage(sample: str) -> None:
    assert damaged(SAMPLES[sample], 7) == damaged(SAMPLES[sample], 7)


@pytest.mark.parametrize("sample", ["lines", "document", "bytes"])
def test_nearly_every_seed_damages(sample: str) -> None:
    copies = [damaged(SAMPLES[sample], seed) for seed in range(100)]
    assert sum(copy != SAMPLES[sample] for copy in copies) > 90
    assert len(set(copies)) > 80


@pytest.mark.parametrize("seed", range(300))
def test_native_traces(seed: int) -> None:
    read_damaged(READER, LINES, seed)
