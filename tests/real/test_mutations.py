"""Whatever is handed in: an InputError or a Score that obeys the law, and never any other exception."""

import json
import math
import string
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from scalepan.errors import InputError
from scalepan.trace import ReasoningTrace, TraceValuer
from tests.law import assert_law
from tests.real.wholetrace import TEXT, WHOLE, Trace

DICTS, TEXTS = 20_000, 80_000


def no_encoder() -> TraceValuer:
    return TraceValuer(embedder=None)


def nested(depth: int, bracket: type[list[Any]] | type[dict[str, Any]] = list) -> Any:
    """A list in a list in a list, or the same with objects."""
    value: Any = bracket()
    for _ in range(depth):
        value = [value] if bracket is list else {"a": value}
    return value


ODD: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: 0,
    lambda: -1,
    lambda: 1,
    lambda: 0.5,
    lambda: 1.0000000000000002,
    lambda: -0.0,
    lambda: 5e-324,
    lambda: 1e308,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: 2**63,
    lambda: 2**64,
    lambda: -(2**63) - 1,
    lambda: 10**400,
    lambda: "",
    lambda: " ",
    lambda: "1",
    lambda: "thought",
    lambda: "kp:trace:",
    lambda: "kp:trace:\x1b[31m\x00\x7f",
    lambda: "\ud800",
    lambda: "\udfff kp:trace:",
    lambda: "kp:trace:\ud83d",
    lambda: "\u202e\ufeff\u0085\u2028",
    lambda: "[red]x[/] [/]",
    lambda: "x" * 5_000,
    list,
    dict,
    lambda: [[]],
    lambda: [None],
    lambda: [{}],
    lambda: {"": None},
    lambda: {"name": "scale"},
    lambda: {1: 2},
    lambda: {None: 1, "a": 2},
    lambda: {"\ud800": "\ud800"},
    lambda: b"bytes",
    lambda: bytearray(b"bytes"),
    lambda: (1, 2),
    lambda: {1, 2},
    lambda: 1j,
    object,
    lambda: len,
    lambda: nested(10),
    lambda: nested(100),
    lambda: nested(100, dict),
]
RARE_ODD: list[Callable[[], Any]] = [lambda: nested(3_000), lambda: nested(3_000, dict)]


def somewhere(random: Random, trace: Trace) -> Any:
    """An object or a list of the trace: itself, or on a walk into it."""
    here: Any = trace
    while random.random() < 0.75:
        inside = [c for c in (here.values() if isinstance(here, dict) else here) if isinstance(c, dict | list)]
        if not inside:
            break
        here = random.choice(inside)
    return here


def odd(random: Random) -> Any:
    return random.choice(RARE_ODD if random.random() < 0.005 else ODD)()


def mutated_object(random: Random, target: dict[Any, Any]) -> None:
    key = random.choice(list(target)) if target else "new"
    match random.randrange(6):
        case 0:
            target.pop(key, None)
        case 1:
            target[key] = odd(random)
        case 2:
            target[str(key).upper()] = target.pop(key, None)
        case 3:
            target[f"{key}_copy"] = target.get(key)
        case 4:
            target[random.choice(["extra", "context", "kind", "unknown", "", "\ud800", 7, None, ("a",)])] = odd(random)
        case _:
            other = random.choice(list(target)) if target else key
            target[key], target[other] = target.get(other), target.get(key)


def mutated_list(random: Random, target: list[Any]) -> None:
    at = random.randrange(len(target)) if target else 0
    match random.randrange(5):
        case 0:
            del target[at : at + random.randrange(1, 4)]
        case 1:
            target.insert(at, odd(random))
        case 2:
            target *= random.randrange(0, 12)
        case 3:
            target.reverse()
        case _:
            target[at : at + 1] = [odd(random)]


def mutated_trace(random: Random) -> Trace:
    """A valid trace with one to three things wrong with it, or merely odd."""
    trace: Trace = json.loads(TEXT)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        target = somewhere(random, trace)
        if isinstance(target, dict):
            mutated_object(random, target)
        else:
            mutated_list(random, target)
    return trace


WORDS = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1" * 400, b"0" * 9, b"1e-400", b"-0", b"0.9.9", b"+1"),
    *(b"null", b"true", b"tru", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b'""', b"{}", b"[]", b"\n", b"//"),
    *(b'"\\ud800"', b'"\\udc00x"', b"\\u0000", b"\\u001b[2J", b"\\x", b"\x00", b"\x1b[31m", b"\x7f"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xef\xbb\xbf", "金".encode()),
]
DEEP_WORDS = [b"[" * 2_000, b"[" * 2_000 + b"]" * 2_000, b'{"a":' * 2_000 + b"1" + b"}" * 2_000]


def mutated_text(random: Random) -> bytes:
    """The bytes of a valid trace, cut, flipped, spliced, or with a word where it does not belong."""
    text = bytearray(TEXT, "utf-8")
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(len(text) + 1)
        match random.randrange(8):
            case 0:
                del text[at:]
            case 1:
                del text[at : at + random.randrange(1, 40)]
            case 2:
                text[at : at + 1] = bytes([random.randrange(256)])
            case 3:
                text[at:at] = random.choice(DEEP_WORDS if random.random() < 0.005 else WORDS)
            case 4:
                other = random.randrange(len(text) + 1)
                text[at:at] = text[min(at, other) : max(at, other)][:200]
            case 5:
                replace_a_number(random, text)
            case 6:
                text[at:at] = random.choice(string.ascii_letters).encode()
            case _:
                text[at : at + random.randrange(3)] = random.choice(WORDS)
    return bytes(text)


def replace_a_number(random: Random, text: bytearray) -> None:
    """Another number, or none, where one stood: the text stays JSON more often than not."""
    name = random.choice([b'"confidence": ', b'"quality_score": ', b'"step_id": ', b'"latency_ms": ', b'"success": '])
    start = text.find(name)
    if start < 0:
        return
    start += len(name)
    end = start
    while end < len(text) and text[end] not in b",}":
        end += 1
    text[start:end] = random.choice([*WORDS, b"0", b"1", b"0.25", b"1.5", b"1e0", b"-1e-9", b"12345678901234567890"])


def outcome(value: Callable[[], Any], given: Any, seed: int) -> str:
    """`score` or `error`; everything else is a failure that shows what was given."""
    try:
        score = value()
    except InputError as error:
        # A message is for a terminal: always there, always printable, always encodable.
        for line in error.lines:
            assert line.isprintable(), (seed, line)
        return "error"
    except BaseException as error:
        error.add_note(f"mutation {seed}: {describe(given)}")
        raise
    assert_law(score)
    return "score"


def describe(given: Any) -> str:
    try:
        return repr(given)[:3_000]
    except RecursionError:
        return "a trace too deep to show"


def both_often(seen: Counter[str], total: int) -> None:
    """Else the mutations are too wild, or too tame, to find anything."""
    assert seen["score"] > total / 20, seen
    assert seen["error"] > total / 20, seen
    assert seen.total() == total


def test_mutated_traces() -> None:
    valuer = no_encoder()
    seen: Counter[str] = Counter()
    for seed in range(DICTS):
        trace = mutated_trace(Random(seed))
        seen[outcome(lambda trace=trace: valuer.evaluate_value(trace), trace, seed)] += 1  # type: ignore[misc]
    both_often(seen, DICTS)


def test_mutated_texts() -> None:
    valuer = no_encoder()
    seen: Counter[str] = Counter()
    for seed in range(TEXTS):
        text = mutated_text(Random(seed))
        call = lambda text=text: valuer.evaluate_value(ReasoningTrace.from_json(text))  # noqa: E731
        seen[outcome(call, text, seed)] += 1
    both_often(seen, TEXTS)


@pytest.mark.parametrize("depth", [100, 500, 900, 1_000, 5_000, 100_000])
@pytest.mark.parametrize("where", ["input", "unknown", "metadata", "steps", "id"])
def test_nesting_of_any_depth(depth: int, where: str) -> None:
    """As text, where nothing but the reader's own care stands between a bracket and the stack."""
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        deep = opened * depth + "1" + closed * depth
        text = TEXT.replace('"input": {"g": [1, 2.5]}', f'"input": {deep}', 1)
        if where != "input":
            text = TEXT[:-1] + f', "{where}": {deep}}}'
        outcome(lambda text=text: no_encoder().evaluate_value(ReasoningTrace.from_json(text)), text.encode(), 0)  # type: ignore[misc]


@pytest.mark.parametrize("depth", [100, 900, 1_100, 5_000, 100_000])
@pytest.mark.parametrize("path", ["steps", "unknown", "metadata", "task", "outcome", "id", "knowledge_graph_delta"])
def test_nesting_of_any_depth_in_a_dict(depth: int, path: str) -> None:
    brackets: tuple[type[list[Any]], type[dict[str, Any]]] = (list, dict)
    for bracket in brackets:
        trace = json.loads(TEXT) | {path: nested(depth, bracket)}
        outcome(lambda trace=trace: no_encoder().evaluate_value(trace), trace, 0)  # type: ignore[misc]
        trace = json.loads(TEXT)
        trace["steps"][1][path] = nested(depth, bracket)
        outcome(lambda trace=trace: no_encoder().evaluate_value(trace), trace, 0)  # type: ignore[misc]


@pytest.mark.parametrize("given", [None, 1, "trace", b"trace", [], [WHOLE], (), {}, math.nan, True, object()])
def test_what_is_no_trace_at_all(given: Any) -> None:
    with pytest.raises(InputError):
        no_encoder().evaluate_value(given)
    with pytest.raises(InputError):
        no_encoder().peek(given)
    with pytest.raises(InputError):
        list(no_encoder().evaluate_many([given]))


@pytest.mark.parametrize(
    "text", [b"", b" ", b"null", b"1", b"[]", b"{}", b'"x"', b"\xef\xbb\xbf", b"{", b"\xff", b"nan"]
)
def test_what_is_no_text_of_a_trace(text: bytes) -> None:
    with pytest.raises(InputError):
        ReasoningTrace.from_json(text)


def test_a_trace_that_contains_itself_is_an_input_error_or_ignored() -> None:
    trace = json.loads(TEXT)
    trace["loop"] = trace
    assert outcome(lambda: no_encoder().evaluate_value(trace), {}, 0) in {"score", "error"}


def test_the_given_data_is_left_alone() -> None:
    trace = json.loads(TEXT)
    made = ReasoningTrace.from_dict(trace)
    no_encoder().evaluate_value(trace)
    assert trace == WHOLE
    made.to_dict()["steps"].clear()
    assert made.to_dict() == WHOLE
