"""Operations, pages and outputs as JSON has them, and what a scorer makes of them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from scalepan.evals import (
    Case,
    CaseResult,
    Context,
    Evidence,
    Expected,
    Output,
    Page,
)
from scalepan.policy import load_policy
from scalepan.score import Score
from tests.law import assert_law

Json = dict[str, Any]


def score_of(
    name: str,
    done: Any = (),
    asked: Any = (),
    pages: Any = (),
    policy: Json | None = None,
    embedder: Callable[[], Any] = lambda: None,
    **options: Any,
) -> Score:
    """What a scorer makes of operations by page, of an output, or of both; everything as JSON has it."""
    evals = load_policy(overrides={"evals": policy or {}}).evals
    actual = msgspec.convert(done if isinstance(done, dict) else {"operations": _grouped(done)}, Output)
    expected = msgspec.convert(asked if isinstance(asked, dict) else {"operations": _grouped(asked)}, Expected)
    evidence = Evidence(msgspec.convert(list(pages), list[Page]), actual)
    module = import_module(f"scalepan.evals.scorers.{name.replace('-', '_')}")
    typed = msgspec.convert(options, module.Options) if options else None
    score: Score = module.score(actual, expected, Context(evidence, evals, typed, embedder))
    assert_law(score)
    assert score.name == name
    return score


def _grouped(operations: Any) -> list[Json]:
    """The operations of page p, or groups that name their pages."""
    if any("pageId" in one for one in operations):
        return list(operations)
    return [{"pageId": "p", "operations": list(operations)}] if operations else []


def by_page(**pages: list[Json]) -> list[Json]:
    return [{"pageId": page, "operations": operations} for page, operations in pages.items()]


def details(score: Score) -> Json:
    made: Json = msgspec.to_builtins(score.details)
    return made


def page(*texts: str, id_: str = "p") -> Json:
    """A page of blocks b0, b1, ... with these texts."""
    return {"id": id_, "blocks": [{"id": f"b{i}", "content": text} for i, text in enumerate(texts)]}


def insert(target: Any, position: str = "after", **more: Any) -> Json:
    return {"type": "insert", **_target(target), "position": position, **more}


def replace(target: Any, **more: Any) -> Json:
    return {"type": "replace", **_target(target), **more}


def delete(target: Any) -> Json:
    return {"type": "delete", **_target(target)}


def _target(target: Any) -> Json:
    """A text is an id, a number an index, a pair both."""
    match target:
        case str():
            return {"targetBlockId": target}
        case int():
            return {"targetIndex": target}
        case (id_, index):
            return {"targetBlockId": id_, "targetIndex": index}
    return {}


def patterns(*wanted: str, on: str = "b0") -> list[Json]:
    return [replace(on, expectedContentPatterns=list(wanted))]


ABC = [page("a", "b", "c")]


def case(asked: Any, pages: Any = ABC, **more: Any) -> Case:
    expected = asked if isinstance(asked, dict) else {"operations": _grouped(asked)}
    return msgspec.convert({"id": "c-1", "pages": pages, "expected": expected, **more}, Case)


def output(done: Any, **more: Any) -> Output:
    return msgspec.convert({"id": "c-1", "operations": _grouped(done), **more}, Output)


def judged(result: CaseResult) -> dict[str, float | None]:
    return {one.type: one.score for one in result.results}
