"""Which trajectories are in an ATIF file: the document's own, those of its sub-agents, and none of them twice."""

from collections.abc import Iterator
from typing import Any

from scalepan.errors import InputError, quoted
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.atif.foreign import Trajectory, read_foreign
from scalepan.trace.readers.atif.own import is_own, read_own
from scalepan.trace.readers.build import digest
from scalepan.trace.readers.lenient import flag, mapping, objects, text
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

_MARK = "ATIF-v1."
MOST_NESTED = 8
"""Sub-agents of sub-agents are read down to this depth."""


def _read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            document = decode(record.data)
            _check_version(document)
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
            continue
        name = digest(bytes(record.data))
        # The same document in two files of a folder is one run.
        if seen.first(f"atif:{name}"):
            yield from _traces(document, _id_of(document, name), record.line, source)


def _traces(
    document: dict[str, Any],
    id_parts: tuple[str, ...],
    line: int,
    source: Source,
    parent: str | None = None,
    depth: int = 0,
) -> Iterator[TraceLine | BadRow]:
    """The traces of one document, then those of the sub-agents that are embedded in it."""
    own_id: str | None = None
    try:
        for trace in _own_traces(document, id_parts, parent):
            own_id = own_id or trace.id
            yield TraceLine(line, trace)
    except InputError as error:
        yield BadRow(line, error.at(file=source.name, line=line))
    if depth == MOST_NESTED:
        return
    for number, sub in enumerate(objects(document.get("subagent_trajectories")), 1):
        # Their ids need to be unique among their siblings only.
        sub_parts = (*id_parts, text(sub.get("trajectory_id")) or f"subagent-{number}")
        yield from _traces(sub, sub_parts, line, source, own_id, depth + 1)


def _own_traces(document: dict[str, Any], id_parts: tuple[str, ...], parent: str | None) -> Iterator[ReasoningTrace]:
    if is_own(document):
        yield read_own(document)
    else:
        yield from read_foreign(Trajectory(document, id_parts, parent))


def _id_of(document: dict[str, Any], name: str) -> tuple[str, ...]:
    trajectory, session = text(document.get("trajectory_id")), text(document.get("session_id"))
    if trajectory is not None:
        return (trajectory,)
    if session is None:
        return (name,)
    # The parts of a run that was continued in another file may share the session's id.
    continued = any(flag(step.get("is_copied_context")) for step in objects(document.get("steps")))
    return (session, name) if continued else (session,)


def _check_version(document: dict[str, Any]) -> None:
    version = document.get("schema_version")
    if not isinstance(version, str) or not version.startswith(_MARK):
        raise InputError(f"{quoted(version)} is not a version of ATIF 1, such as ATIF-v1.8", path="schema_version")


def _sniff(head: Head) -> bool:
    return any(str(mapping(record).get("schema_version")).startswith("ATIF-v") for record in head.records)


READER = Reader("atif", "Agent Trajectory Interchange Format (ATIF)", _sniff, _read)
