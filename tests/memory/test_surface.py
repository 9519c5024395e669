"""How a memory looks and what it takes: one line each, tables for notebooks, arguments as they are meant, async."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scalepan import AsyncMemory, Memory
from scalepan.errors import InputError, NotFoundError
from scalepan.memory.requests import Ask, Get, Update, Vote
from scalepan.policy import Policy
from scalepan.store import Store

BAD = "<script>alert(1)</script>"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return tmp_path / "notes.duckdb"


def test_a_memory_says_which_file_and_who_asks_and_opens_nothing(file: Path) -> None:
    memory = Memory(file, project="shop", session="s1")
    assert repr(memory) == f"Memory('{file}', tenant='default', project='shop', session='s1')"
    assert repr(AsyncMemory(memory)) == f"Async{memory!r}"
    assert not file.exists()


def test_a_recall_is_a_sequence_a_line_and_a_table(file: Path) -> None:
    with Memory(file) as memory:
        memory.add_many([f"plan {number} is cancelled by mail {BAD}\nand phone" for number in range(5)])
        found = memory.search("how is a plan cancelled?")
        empty = memory.search("zebra")
    assert [one.rank for one in found] == [1, 2, 3, 4, 5]
    assert [one.rank for one in found[:2]] == [1, 2]
    line = str(found)
    assert line.isprintable()
    assert line.startswith("5 claims of 5 found: 0.")
    assert line.endswith(", …")
    assert str(empty) == "0 claims of 0 found"
    assert str(found[0]).isprintable()
    assert str(found[0]).startswith(f"{found[0].score_final:.3f} {found[0].id}: plan ")
    for shown in (found, found[0], empty):
        assert "script" not in {element.tag for element in ElementTree.fromstring(shown._repr_html_()).iter()}
    assert found._repr_html_().count("<tr>") == 6
    assert "<svg" in found[0]._repr_html_()


def test_what_is_plainly_meant_is_taken(file: Path) -> None:
    who: Any = {"purposes": "answer:task", "classes": "internal"}
    with Memory(str(file), policy={"retrieval": {"threshold": 0.2}}, **who) as memory:
        (one,) = memory.add_many("a text, not its letters")
        (two,) = memory.add_many({"text": "a claim, not its keys"})
        assert memory.who.purposes == ("answer:task",)
        assert len(memory.search("text", scopes="project", kinds="fact")) == 1
        assert len(list(memory.list(kinds=("fact",)))) == 2
        assert memory.forget([one.id, two.id]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": 5}, "path: 5 is not a store file, a Store, or None"),
        ({"path": ""}, "path: '' is not a store file"),
        ({"path": b"x"}, "path: b'x' is not a store file"),
        ({"tenant": None}, "tenant: null is not text"),
        ({"tenant": 5}, "tenant: 5 is not text"),
        ({"purposes": 5}, "purposes: 5 is not a list of words"),
        ({"purposes": [5]}, r"purposes\[0\]: 5 is not text"),
        ({"purposes": []}, "purposes: is empty"),
        ({"classes": ["top"]}, r"classes\[0\]: 'top' is not one of"),
        ({"classes": 5}, "classes: 5 is not a list of words"),
        ({"facts": [1]}, r"facts: \[1\] is not a dict"),
        ({"policy": 5}, "policy: 5 is not a Policy, a policy file, or a dict of sections"),
        ({"policy": {"retreival": {}}}, "did you mean 'retrieval'"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_by_its_name(given: dict[str, Any], said: str, file: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Memory(**{"path": file, **given}).search("x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda m: m.add(None), "text: null is not text"),
        (lambda m: m.add(5), "text: 5 is not text"),
        (lambda m: m.add(""), "text: is empty"),
        (lambda m: m.add("x", knid="fact"), "knid: unknown key"),
        (lambda m: m.add("x", entities="Aoi"), "entities: 'Aoi' is not a list"),
        (lambda m: m.add_many([5]), r"claims\[0\]: 5 is not a text, a dict or a NewClaim"),
        (lambda m: m.add_many(5), "claims: 5 is not"),
        (lambda m: m.add_many(None), "claims: None is not"),
        (lambda m: m.import_([5]), r"claims\[0\]: 5 is not"),
        (lambda m: m.search(5), "query: 5 is not text"),
        (lambda m: m.search(None), "query: is missing"),
        (lambda m: m.search("x", k="many"), "k: 'many' is not a whole number"),
        (lambda m: m.search("x", kinds=5), "kinds: 5 is not a list of words"),
        (lambda m: m.search("x", alpha=print), "alpha: '<built-in function print>' is not a number"),
        (lambda m: m.get(5), "claim: 5 is not text"),
        (lambda m: m.get(None), "claim: is missing"),
        (lambda m: m.vote(5, "helpful"), "claim: 5 is not text"),
        (lambda m: m.vote("clm_1", "good"), "signal: 'good' is not one of helpful"),
        (lambda m: m.undo_vote(5), "vote: 5 is not text"),
        (lambda m: m.link("clm_1", 5), "target: 5 is not text"),
        (lambda m: m.forget(5), "claims: 5 is not the id of a claim"),
        (lambda m: m.forget([5]), r"claims\[0\]: 5 is not text"),
        (lambda m: m.update("clm_1", txt="x"), "txt: unknown key"),
        (lambda m: list(m.list(limit="all")), "limit: 'all' is not a whole number"),
    ],
)
def test_a_method_refuses_in_one_line_what_cannot_be_meant(use: Callable[[Any], object], said: str, file: Path) -> None:
    with Memory(file) as memory, pytest.raises(InputError, match=said) as caught:
        use(memory)
    assert "\n" not in str(caught.value)


def test_a_whole_policy_and_a_policy_file_are_taken(file: Path, tmp_path: Path) -> None:
    policy = tmp_path / "own.yaml"
    policy.write_text("retrieval: {}\n")
    for given in (Policy(), policy, str(policy)):
        with Memory(file, policy=given) as memory:
            assert len(memory.search("x")) == 0


@pytest.mark.parametrize(
    ("method", "request_", "without"),
    [
        ("search", Ask, ()),
        ("activate", Ask, ("diverse",)),
        ("vote", Vote, ()),
        ("update", Update, ()),
        ("get", Get, ()),
    ],
)
def test_a_method_takes_the_fields_of_its_request(method: str, request_: type, without: tuple[str, ...]) -> None:
    fields = [name for name in request_.__struct_fields__ if name not in ("who", "overlay", *without)]  # type: ignore[attr-defined]
    made = getattr(Memory, method)
    taken = inspect.signature(made).parameters
    assert [*taken] == ["self", *fields]
    for name in fields:
        assert f"\n{name}: " in made.__doc__
    assert taken[fields[0]].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert taken[fields[-1]].kind is inspect.Parameter.KEYWORD_ONLY or len(fields) == 1


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda m: m.search("x", kids=["fact"]), InputError, "kids: unknown key; did you mean 'kinds'?"),
        (lambda m: m.search("x", who="Aoi"), InputError, "who: unknown key"),
        (lambda m: m.activate("x", diverse=True), InputError, "diverse: unknown key"),
        (lambda m: m.search("x", 1, 0.5), TypeError, "too many positional arguments"),
        (lambda m: m.search("x", query="y"), TypeError, "multiple values for argument 'query'"),
    ],
)
def test_an_argument_that_a_method_does_not_take(
    use: Callable[[Any], object], error: type[Exception], said: str, file: Path
) -> None:
    with Memory(file) as memory, pytest.raises(error) as caught:
        use(memory)
    assert said in str(caught.value)


def public(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_") and callable(vars(cls)[name])}


def test_the_async_form_has_every_method_with_the_same_arguments() -> None:
    assert public(AsyncMemory) == public(Memory)
    for name in public(Memory):
        plain, awaited = getattr(Memory, name), getattr(AsyncMemory, name)
        assert inspect.signature(awaited) == inspect.signature(plain)
        if inspect.isgeneratorfunction(plain):
            assert inspect.isasyncgenfunction(awaited)
        else:
            assert inspect.iscoroutinefunction(awaited)


def test_a_memory_in_an_async_program(file: Path) -> None:
    told: list[tuple[int, bool]] = []

    async def program() -> None:
        here = threading.current_thread()
        async with AsyncMemory(file, project="shop") as memory:
            added = await memory.add_many(
                [f"order {number} was paid" for number in range(250)],
                progress=lambda done: told.append((done, threading.current_thread() is here)),
            )
            found = await asyncio.gather(*(memory.search(f"order {number}", 3) for number in range(20)))
            assert all(len(one) == 3 for one in found)
            assert len([claim async for claim in memory.list()]) == 250
            assert len([claim async for claim in memory.list(limit=7)]) == 7
            assert len([row async for row in memory.export()]) == 250
            assert (await memory.get(added[0].id)).project == "shop"
            await memory.vote(added[0].id, "helpful")
            assert await memory.forget(added[0].id) == 1
            with pytest.raises(NotFoundError):
                await memory.get(added[0].id)
            with pytest.raises(InputError, match="query: 5 is not text"):
                await memory.search(5)  # type: ignore[arg-type]

    asyncio.run(program())
    assert told == [(250, True)]


def test_the_loop_goes_on_while_the_memory_works(file: Path) -> None:
    async def program() -> None:
        waiting, go = asyncio.Event(), threading.Event()

        class Slow(Store):
            def call(self, *args: Any, **kwargs: Any) -> Any:
                loop.call_soon_threadsafe(waiting.set)
                go.wait(30)
                return super().call(*args, **kwargs)

        loop = asyncio.get_running_loop()
        async with AsyncMemory(Memory(Slow(file))) as memory:
            asked = asyncio.create_task(memory.stats())
            await asyncio.wait_for(waiting.wait(), 30)
            go.set()
            assert (await asked) is not None

    asyncio.run(program())


def test_a_memory_that_knows_who_asks_takes_no_more(file: Path) -> None:
    with pytest.raises(InputError, match="already states who asks; give the Memory tenant"):
        AsyncMemory(Memory(file), tenant="x")
    with pytest.raises(InputError, match="path: 5 is not a store file"):
        AsyncMemory(5)  # type: ignore[arg-type]
    with Store(file) as store:
        assert AsyncMemory(store).memory.store is store
