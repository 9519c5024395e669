"""Every reader on damaged files: traces or lines that say what is wrong, never another exception.

SCALEPAN_STRESS=30 tries 30 times as many, which is more than 100,000.
"""

from collections import Counter

import pytest

from scalepan.trace.readers import TraceLine, readers
from scalepan.trace.readers.table import MODULES
from tests.real.stress import rounds
from tests.trace.readers.mutate import read_damaged
from tests.trace.readers.rows import reader_of, rows_of
from tests.trace.readers.samples import SAMPLES, Sample

MUTATIONS = 150


def shown(sample: Sample) -> str:
    return f"{sample.reader}-{sample.form}"


def test_every_reader_has_a_sample() -> None:
    assert {sample.reader for sample in SAMPLES} >= set(list(readers())[: len(MODULES)])


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_a_sample_is_found_and_read_without_an_error(sample: Sample) -> None:
    assert reader_of(sample.data, sample.name) == sample.reader
    rows = rows_of(sample.data, sample.name)
    assert rows
    assert all(isinstance(row, TraceLine) for row in rows), rows


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_a_damaged_sample_gives_traces_or_reasons(sample: Sample) -> None:
    reader = readers()[sample.reader]
    total, ends = rounds(MUTATIONS), Counter[str]()
    for seed in range(total):
        try:
            rows = read_damaged(reader, sample.data, seed, sample.name)
        except Exception as error:
            error.add_note(f"{shown(sample)}, mutation {seed}")
            raise
        ends["trace" if any(isinstance(row, TraceLine) for row in rows) else "reason"] += 1
    # Else the mutations are too wild, or too tame, to find anything.
    assert len(ends) == 2, ends
    assert ends.total() == total
