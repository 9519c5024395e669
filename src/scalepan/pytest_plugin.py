"""Golden cases as tests of pytest: a file of cases is collected, one test per case; or a test asks for its cases.

pytest loads this file in every run, so everything else is imported when a case is met.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scalepan.evals import Case, CaseFile, CaseResult, Evaluator, Output
    from scalepan.evals.run import Produce

PATTERNS = ["*.scalepan.yaml", "*.scalepan.yml", "*.scalepan.jsonl"]
SETTINGS = {
    "task": "what makes the outputs: module:function, an address, or a command",
    "outputs": "a file of outputs, instead of a task",
    "preset": "a list of scorers by name",
    "scorers_from": "a Python file with scorers of your own",
}
MARK = (
    "scalepan(cases, preset=None, scorers=None, scorers_from=None): run the test once per golden case of a file, "
    "which lies beside the test; the argument 'case' has the case, and case.check(output) judges"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Every setting is an option and a key of the configuration file."""
    group = parser.getgroup("scalepan", "golden cases as tests (Scalepan)")
    for name, about in SETTINGS.items():
        group.addoption(f"--scalepan-{name.replace('_', '-')}", dest=f"scalepan_{name}", help=f"Golden cases: {about}.")
        parser.addini(f"scalepan_{name}", f"Golden cases: {about}.", default="")
    parser.addini("scalepan_cases", "Which files hold golden cases.", type="linelist", default=PATTERNS)


def pytest_configure(config: pytest.Config) -> None:
    """The mark is known, also with --strict-markers."""
    config.addinivalue_line("markers", MARK)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteFile | None":
    """Collect a file whose name says so, or that is named on the command line together with a task or outputs."""
    named = any(file_path.match(pattern) for pattern in parent.config.getini("scalepan_cases"))
    asked = any(_setting(parent.config, name) for name in ("task", "outputs"))
    is_suite = file_path.suffix in (".yaml", ".yml", ".jsonl") and parent.session.isinitpath(file_path)
    return SuiteFile.from_parent(parent, path=file_path) if named or (asked and is_suite) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the mark runs once per case."""
    mark = metafunc.definition.get_closest_marker("scalepan")
    if mark is None:
        return
    if len(mark.args) != 1 or "case" not in metafunc.fixturenames:
        name = metafunc.definition.nodeid
        raise pytest.UsageError(f"{name}: its mark 'scalepan' takes a file of cases, and the test an argument 'case'")
    folder = metafunc.definition.path.parent
    given = mark.kwargs
    with _as_usage_error():
        evaluator = _evaluator(given.get("scorers") or given.get("preset"), folder, given.get("scorers_from"))
        cases = [GoldenCase(case, evaluator) for case in _cases(folder / mark.args[0], evaluator)]
    metafunc.parametrize("case", cases, ids=[case.id for case in cases])


class SuiteFile(pytest.File):
    """A file of golden cases."""

    def collect(self) -> Iterator["CaseItem"]:
        """One test per case, in the order of the file."""
        from scalepan.errors import ScalepanError

        try:
            suite = _suite(self.config)
            for case in _cases(self.path, suite.evaluator):
                yield CaseItem.from_parent(self, name=case.id, case=case, suite=suite)
        except ScalepanError as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """One golden case as a test."""

    def __init__(self, *, case: "Case", suite: "JudgedSuite", **rest: Any) -> None:
        super().__init__(**rest)
        self._case, self._suite = case, suite

    def runtest(self) -> None:
        """Make the output, and judge it."""
        GoldenCase(self._case, self._suite.evaluator).check(self._suite.produce(self._case))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What broke, without Scalepan's own frames."""
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the test is, and its name."""
        return self.path, None, self.name


class GoldenCase:
    """A case as a test sees it: without what is expected."""

    def __init__(self, case: "Case", evaluator: "Evaluator") -> None:
        self._case, self._evaluator = case, evaluator
        shown = case.without_answer()
        self.id, self.name, self.user_message, self.pages = shown.id, shown.name, shown.user_message, shown.pages

    def __repr__(self) -> str:
        return f"GoldenCase({self.id!r})"

    def check(self, output: Any) -> "CaseResult":
        """Judge an output: AssertionError says what broke, or that it could not be judged."""
        from scalepan.evals.task import as_output

        __tracebackhide__ = True
        made = as_output(self._case, output)
        result = self._evaluator.evaluate(self._case, made)
        if not result.passed:
            raise AssertionError(_told(self._case, made, result, self._evaluator))
        return result


class JudgedSuite:
    """What judges the collected cases of a run, and what makes their outputs."""

    def __init__(self, config: pytest.Config) -> None:
        from scalepan.errors import InputError
        from scalepan.evals import OutputFile, as_task

        task, outputs, preset, own = (_setting(config, name) for name in SETTINGS)
        if bool(task) == bool(outputs):
            raise InputError("golden cases need outputs: set scalepan_task or scalepan_outputs, and not both")
        root = config.rootpath
        self.evaluator = _evaluator(preset, root, own)
        with _imports_from(root):
            self.produce: Produce = as_task(task) if task else OutputFile(root / outputs).get


SUITE = pytest.StashKey[JudgedSuite]()


def _suite(config: pytest.Config) -> JudgedSuite:
    if SUITE not in config.stash:
        config.stash[SUITE] = JudgedSuite(config)
    return config.stash[SUITE]


def _setting(config: pytest.Config, name: str) -> str:
    given: str | None = config.getoption(f"scalepan_{name}")
    return given if given is not None else str(config.getini(f"scalepan_{name}"))


def _cases(path: Path, evaluator: "Evaluator") -> "CaseFile":
    from scalepan.evals import CaseFile

    return CaseFile(path, evaluator.policy.evals)


def _evaluator(scorers: Any, folder: Path, own: str | None) -> "Evaluator":
    from functools import partial

    from scalepan.embed import find_encoder
    from scalepan.evals import Evaluator
    from scalepan.policy import load_policy

    policy = load_policy(None)
    encoder = partial(find_encoder, policy.embed)
    return Evaluator(scorers or None, policy, embedder=encoder, scorers_from=folder / own if own else None)


@contextmanager
def _as_usage_error() -> Iterator[None]:
    from scalepan.errors import ScalepanError

    try:
        yield
    except ScalepanError as error:
        raise pytest.UsageError(str(error)) from None


@contextmanager
def _imports_from(folder: Path) -> Iterator[None]:
    """A task is looked for in the root of the tests, as `python -m pytest` would."""
    import sys

    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.path.append(str(folder))


def _told(case: "Case", output: "Output", result: "CaseResult", evaluator: "Evaluator") -> str:
    """What a person reads under a failed test."""
    from scalepan.errors import printable
    from scalepan.evals import diagnose
    from scalepan.evals.report.pairs import expected_and_actual, page_diffs

    diagnosis = diagnose(case, output, result, evaluator.policy.evals)
    verdict = "did not pass" if result.is_measured else "could not be judged"
    lines = [f"case {case.id} {verdict}", *(cause.sentence for cause in diagnosis.causes)]
    lines += [f"The golden case may be at fault: {fault}." for fault in diagnosis.golden_faults]
    for wanted, got in expected_and_actual(case, output):
        lines += [f"expected  {wanted}", f"actual    {got}"]
    for page, diff in page_diffs(case, output) if not output.error else []:
        lines += [f"page {page}", *diff.splitlines()]
    return "\n".join(map(printable, lines))
