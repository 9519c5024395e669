"""Which scores of Langfuse state success: yes or no, of a whole trace, under a name that says so.

A blob export has scores in a folder of their own beside the observations, in files for the time when they were given.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from scalepan.errors import ScalepanError
from scalepan.trace.files import ENDINGS
from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.langfuse.fields import snake_case
from scalepan.trace.readers.lenient import text
from scalepan.trace.readers.runs.run import amount_of
from scalepan.trace.readers.source import JsonRecord, decode, open_path

SUCCESS = frozenset(("success", "task_success", "task-success"))
"""Names of yes-or-no scores that state success."""
FOLDER = "scores"
_BESIDE = frozenset(("observations_v2", "observations"))
_ANSWERS = {0.0: False, 1.0: True}


class ScoredSuccess(NamedTuple):
    """What a score states."""

    name: str
    success: bool


def verdict_of(score: dict[str, Any]) -> ScoredSuccess | None:
    """What a score states of its trace; None if it says something else, or of one observation only."""
    fields = snake_case(score)
    name, value = text(fields.get("name")), amount_of(fields.get("value"))
    success = _ANSWERS.get(value) if value is not None else None
    if fields.get("data_type") != "BOOLEAN" or text(fields.get("observation_id")) is not None:
        return None
    return ScoredSuccess(name, success) if name in SUCCESS and success is not None else None


def judge(verdicts: list[ScoredSuccess], builder: TraceBuilder) -> None:
    """The trace's success, if all that state it agree."""
    if verdicts and len({verdict.success for verdict in verdicts}) == 1:
        builder.success = verdicts[0].success
        builder.validated_by = f"langfuse:{verdicts[0].name}"


def scores_beside(path: Path | None) -> dict[str, list[ScoredSuccess]]:
    """The verdicts of the export that a file of observations is part of, by trace."""
    if path is None or path.parent.name not in _BESIDE:
        return {}
    folder = path.parent.parent / FOLDER
    try:
        found = sorted(file for file in folder.iterdir() if file.name.lower().endswith(ENDINGS))
        state = tuple((file, file.stat().st_mtime_ns) for file in found)
    except OSError:
        return {}
    return _read(state)


@lru_cache(maxsize=2)
def _read(files: tuple[tuple[Path, int], ...]) -> dict[str, list[ScoredSuccess]]:
    """All files, once for all observations of an export. A file that cannot be read states nothing."""
    verdicts: dict[str, list[ScoredSuccess]] = {}
    for file, _ in files:
        try:
            with open_path(file) as source:
                for record in source.records():
                    score = decode(record.data) if isinstance(record, JsonRecord) else {}
                    verdict, trace = verdict_of(score), text(score.get("trace_id"))
                    if verdict is not None and trace is not None:
                        verdicts.setdefault(trace, []).append(verdict)
        except ScalepanError:
            continue
    return verdicts
