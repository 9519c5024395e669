"""What does one shard of traces come to? Rows and rejects: a pure function of the records, the policy and the encoder.

Nothing is shared between two calls, so shards can be valued in any order and in any process. Novelty compares a trace
with the earlier ones of its own shard.
"""

from collections.abc import Iterable, Iterator

from scalepan.policy import Policy
from scalepan.redact import Redactor
from scalepan.trace.batch import Skipped, TraceItem, value_items
from scalepan.trace.novelty import Encodes
from scalepan.trace.readers import BadRow
from scalepan.trace.rows import RejectedRow, ValueRow, rejected_row, row_of
from scalepan.trace.value import TraceValuer


def value_shard(
    items: Iterable[TraceItem | Skipped], policy: Policy, embedder: Encodes | None = None
) -> Iterator[ValueRow | RejectedRow]:
    """A row per trace and a reject per bad record, in their order. `items` are all or some of what `read_files` gives.

    >>> from scalepan.samples import TRACES
    >>> from scalepan.trace.batch import read_files
    >>> from scalepan.trace.files import input_files
    >>> rows = list(value_shard(read_files(input_files(TRACES)), Policy()))
    >>> rows[0].id, round(rows[0].value, 3), sum(isinstance(row, RejectedRow) for row in rows)
    ('kp:trace:finance-0001', 0.94, 4)
    """
    redactor: Redactor | None = None
    for item in value_items(items, TraceValuer(policy, embedder=embedder)):
        if isinstance(item, Skipped):
            continue
        if item.valued is not None:
            yield row_of(item.file, item.number, item.valued)
        elif isinstance(item.row, BadRow):
            redactor = redactor or Redactor(policy.redact)
            yield rejected_row(item.file, item.row, redactor)
