"""Golden cases and outputs from files: everything is checked before anything runs, and every problem is reported."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from scalepan.arguments import as_path
from scalepan.check import Fault, problems
from scalepan.errors import InputError, quoted
from scalepan.evals.cases import Case, Output
from scalepan.evals.patterns import check_pattern
from scalepan.evals.registry import scorer_faults
from scalepan.files import open_source
from scalepan.policy.evals import Evals
from scalepan.policy.given import Given, policy_given
from scalepan.yamlfile import Lines, read_yaml

_CASE = msgspec.json.Decoder(Case)
_OUTPUT = msgspec.json.Decoder(Output)
SHOWN_PROBLEMS = 100


class CaseError(InputError):
    """Golden cases or outputs that do not fit."""

    noun = "case"


class CaseFile:
    """A checked file of golden cases. A JSONL file is read again case by case, so that its size does not matter."""

    def __init__(self, path: str | os.PathLike[str], policy: Evals | Given = None) -> None:
        """`policy` is the section `evals`, or a whole policy in any form; by default the policy in force."""
        self.path = path = as_path("path", path, "a file of golden cases: .yaml or .jsonl")
        self.policy = policy if isinstance(policy, Evals) else policy_given(policy).evals
        self._yaml: list[Case] | None = None
        self.count = 0
        is_jsonl = path.suffix.lower() in (".jsonl", ".ndjson")
        faults = list(self._check_jsonl() if is_jsonl else self._check_yaml())
        if faults:
            raise together(faults)
        if not self.count:
            raise CaseError("has no case", file=str(path))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Case]:
        if self._yaml is not None:
            yield from self._yaml
            return
        for line in _lines(self.path):
            yield _CASE.decode(line.data)

    def _check_jsonl(self) -> Iterator[CaseError]:
        seen: dict[str, int] = {}
        for line in _lines(self.path):
            self.count += 1
            case, faults = _decoded(line.data, _CASE, Case, self.policy)
            if case is not None:
                faults = _case_faults(case, self.policy)
                if case.id in seen:
                    faults.append(Fault("id", f"{quoted(case.id)} is on line {seen[case.id]} too"))
                seen.setdefault(case.id, line.number)
            for fault in faults:
                yield CaseError(fault.message, file=str(self.path), line=line.number, id=_id(case), path=fault.path)

    def _check_yaml(self) -> Iterator[CaseError]:
        try:
            data = read_yaml(self.path)
        except InputError as error:
            yield CaseError(error.problem, file=error.file, line=error.line)
            return
        if not isinstance(data, list):
            yield CaseError("is not a list of cases", file=str(self.path))
            return
        self._yaml = []
        self.count = len(data)
        seen: set[str] = set()
        lines = Lines(self.path)
        for number, raw in enumerate(data):
            case, faults = _converted(raw, Case, self.policy)
            if case is not None:
                self._yaml.append(case)
                faults = _case_faults(case, self.policy)
                if case.id in seen:
                    faults.append(Fault("id", f"{quoted(case.id)} occurs twice"))
                seen.add(case.id)
            name = _id(case) or (raw.get("id") if isinstance(raw, dict) and isinstance(raw.get("id"), str) else None)
            for fault in faults:
                line = lines.of(number, fault.path)
                yield CaseError(fault.message, file=str(self.path), line=line, id=name, path=fault.path)


class OutputFile:
    """A checked JSONL file of actual outputs. Only their offsets are held in memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path = as_path("path", path, "a JSONL file of outputs")
        self._at: dict[str, int] = {}
        faults = list(self._check())
        if faults:
            raise together(faults)
        self._file = open_source(path, again=True)

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, case_id: str) -> bool:
        return case_id in self._at

    def ids(self) -> Iterable[str]:
        """The cases that have an output."""
        return self._at.keys()

    def get(self, case: Case) -> Output:
        """The output of a case; if there is none, an output whose error says so."""
        if case.id not in self._at:
            return Output(id=case.id, error=f"no output for this case in {self.path}")
        self._file.seek(self._at[case.id])
        return _OUTPUT.decode(self._file.readline())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self) -> Iterator[CaseError]:
        for line in _lines(self.path):
            output, faults = _decoded(line.data, _OUTPUT, Output)
            if output is not None:
                if not output.id:
                    faults = [*faults, Fault("id", "is missing")]
                elif output.id in self._at:
                    faults = [*faults, Fault("id", f"{quoted(output.id)} has an output already")]
                self._at.setdefault(output.id, line.offset)
            for fault in faults:
                yield CaseError(fault.message, file=str(self.path), line=line.number, id=_id(output), path=fault.path)


def together(faults: list[CaseError]) -> CaseError:
    """One error for all problems: the first, then the others line by line."""
    first, *others = faults
    more = [other.lines[0] for other in others[:SHOWN_PROBLEMS]]
    if len(others) > SHOWN_PROBLEMS:
        more.append(f"and {len(others) - SHOWN_PROBLEMS:,} more")
    return CaseError(first.problem, file=first.file, line=first.line, id=first.id, path=first.path, more=more)


class _CaseLine(NamedTuple):
    number: int
    offset: int
    data: bytes


def _lines(path: Path) -> Iterator[_CaseLine]:
    """The lines of a file that are not blank, and where each begins."""
    try:
        with open_source(path, again=True) as file:
            offset = 0
            for number, data in enumerate(file, 1):
                content = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
                if content.strip():
                    yield _CaseLine(number, offset + len(data) - len(content), content)
                offset += len(data)
    except OSError as error:
        raise CaseError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _decoded(data: bytes, decoder: Any, type_: type[Any], policy: Evals | None = None) -> tuple[Any, list[Fault]]:
    """The decoded line, or what is wrong with it."""
    try:
        return decoder.decode(data), []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        raw = msgspec.json.decode(data)
    except UnicodeError:
        return None, [Fault("", "is not UTF-8 text")]
    except RecursionError:
        return None, [Fault("", "is nested too deeply")]
    except msgspec.DecodeError as error:
        return None, [Fault("", f"is not JSON: {error}")]
    return _converted(raw, type_, policy)


def _converted(raw: Any, type_: type[Any], policy: Evals | None) -> tuple[Any, list[Fault]]:
    try:
        return msgspec.convert(raw, type_), []
    except (msgspec.ValidationError, UnicodeError):
        # Report the problems that types cannot express too, not only those of one kind.
        return None, [*problems(raw, type_), *(_case_faults(raw, policy) if policy is not None else [])]
    except RecursionError:
        return None, [Fault("", "is nested too deeply")]


def case_faults(case: Case, policy: Evals) -> list[Fault]:
    """Problems of a case that types cannot express: positions, patterns, scorers."""
    return _case_faults(case, policy)


def _case_faults(case: Any, policy: Evals) -> list[Fault]:
    """The same for a case, or for raw data that may not be one."""
    faults = []
    for i, j, type_, position, patterns in _asked(case) if isinstance(case, Case) else _asked_raw(case):
        if type_ == "insert" and position is None:
            path = f"expected.operations[{i}].operations[{j}].position"
            faults.append(Fault(path, "is missing; an insert is before or after its target"))
        for number, pattern in enumerate(patterns):
            try:
                check_pattern(pattern, policy.patterns)
            except InputError as error:
                path = f"expected.operations[{i}].operations[{j}].expectedContentPatterns[{number}]"
                faults.append(Fault(path, error.problem))
    for path, pattern in _text_patterns(case):
        try:
            check_pattern(pattern, policy.patterns)
        except InputError as error:
            faults.append(Fault(path, error.problem))
    scorers = case.scorers if isinstance(case, Case) else case.get("scorers") if isinstance(case, dict) else None
    if isinstance(scorers, list):
        faults += [Fault(error.path, error.problem) for error in scorer_faults(scorers, policy)]
    return faults


_Asked = tuple[int, int, Any, Any, list[str]]


def _asked(case: Case) -> Iterator[_Asked]:
    """For every expected operation: its path, type, position and patterns."""
    for i, group in enumerate(case.expected.operations):
        for j, one in enumerate(group.operations):
            yield i, j, one.type, one.position, one.expected_content_patterns or []


def _asked_raw(raw: Any) -> Iterator[_Asked]:
    """The same for invalid data, as far as it can be recognized."""
    expected = raw.get("expected") if isinstance(raw, dict) else None
    for i, group in enumerate(_list(expected.get("operations") if isinstance(expected, dict) else None)):
        for j, one in enumerate(_list(group.get("operations") if isinstance(group, dict) else None)):
            if isinstance(one, dict):
                patterns = [text for text in _list(one.get("expectedContentPatterns")) if isinstance(text, str)]
                yield i, j, one.get("type"), one.get("position"), patterns


def _text_patterns(case: Any) -> Iterator[tuple[str, str]]:
    """The patterns that are searched in a text, each with its path: of a case, or of raw data that may not be one."""
    raw = msgspec.structs.asdict(case.expected) if isinstance(case, Case) else _dict(_dict(case).get("expected"))
    scorers = case.scorers if isinstance(case, Case) else _dict(case).get("scorers")
    keys = ["matches"]
    if any(_dict(one).get("type") == "regex" for one in _list(scorers)):
        keys.append("output")
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str):
            yield f"expected.{key}", value
        for number, one in enumerate(_list(value)):
            if isinstance(one, str):
                yield f"expected.{key}[{number}]", one


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _id(thing: Case | Output | None) -> str | None:
    return thing.id or None if thing is not None else None
