"""10,000 random queries of the wrong tenant, project or session, hostile names among them: nothing comes back."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scalepan.errors import InputError, NotFoundError
from scalepan.memory import Memory
from scalepan.memory.requests import Ask
from scalepan.names import check_label
from scalepan.store import Store
from scalepan.store.request import Who
from tests.memory.conftest import StandIn

TENANT, SHOP, WEB, SESSION = "acme", "shop", "web", "s1"
WORDS = ["plan", "cancel", "refund", "解約", "請求書", "API", "顧客", "invoice"]
HOSTILE = [
    "*",
    "%",
    "_",
    "acm_",
    "acme%",
    "ACME",
    "Acme",
    " acme",
    "acme ",
    "acme\x00",
    "\x00acme",
    "acme\n",
    "ａｃｍｅ",
    "acm\u0435",  # a Cyrillic e
    "acme\u200b",
    "acme\u0301",
    "\u202eemca",
    "' OR '1'='1",
    "acme' --",
    "acme'; DROP TABLE claims; --",
    '"acme"',
    "acme\\",
    "null",
    "None",
    "NULL",
    "default",
    "nan",
    "-1",
    "0",
    "true",
    "[]",
    "{}",
    "../acme",
    "${tenant}",
    "🙂" * 50,
    "x" * 200,
    "東京",
]


def wrong(dice: random.Random, right: str) -> str:
    """A name that is not this one: hostile, one change away, or anything at all."""
    kind = dice.randrange(4)
    if kind == 0:
        name = dice.choice(HOSTILE).replace("acme", right)
    elif kind == 1:
        place = dice.randrange(len(right) + 1)
        name = right[:place] + chr(dice.choice([0, 32, 97, 0x301, 0x200B, 0xFF41, 0x1F600])) + right[place:]
    elif kind == 2:
        name = "".join(dice.sample(right, len(right)))
    else:
        name = "".join(chr(dice.randrange(1, 0xD800)) for _ in range(dice.randint(1, 12)))
    return name[:200] if name not in ("", right) else f"not {right}"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[str]]]:
    """Claims of one tenant: a project's, and those of one session in a project that has no others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: StandIn())
        # The encoder finds any claim for any query: if it may be read, it comes back.
        with Store(tmp_path_factory.mktemp("boundary") / "notes.duckdb") as store:
            claims = [f"{one} {other}" for one in WORDS for other in WORDS]
            ids = [added.id for added in memory(store, project=SHOP).add_many(claims)]
            in_session = [{"text": text, "scope": "session"} for text in claims]
            ids += [added.id for added in memory(store, project=WEB, session=SESSION).add_many(in_session)]
            yield store, ids


def legal(*names: str | None) -> bool:
    """Whether these may be names; most hostile ones may not, and are refused before anything is looked for."""
    try:
        return all(check_label(name, "name") == name for name in names if name is not None)
    except InputError:
        return False


def memory(store: Store, **who: Any) -> Memory:
    return Memory(store, **{"tenant": TENANT, **who})  # a Store is taken too


def strangers(dice: random.Random) -> dict[str, Callable[[], Who]]:
    return {
        "tenant": lambda: Who(wrong(dice, TENANT), dice.choice([SHOP, WEB, None]), dice.choice([SESSION, None])),
        "project": lambda: Who(TENANT, dice.choice([wrong(dice, SHOP), None]), dice.choice([SESSION, None])),
        "session": lambda: Who(TENANT, WEB, dice.choice([wrong(dice, SESSION), None])),
    }


def test_the_right_ones_find_everything(filled: tuple[Store, list[str]]) -> None:
    store, ids = filled
    found = {one.id for one in memory(store, project=SHOP).search("plan", k=500)}
    found |= {one.id for one in memory(store, project=WEB, session=SESSION).search("plan", k=500)}
    assert found
    assert found <= set(ids)


@pytest.mark.parametrize(("which", "count"), [("tenant", 4000), ("project", 3000), ("session", 3000)])
def test_the_wrong_ones_find_nothing(filled: tuple[Store, list[str]], which: str, count: int) -> None:
    store, _ = filled
    dice = random.Random(which)
    stranger = strangers(dice)[which]
    tried = 0
    # Many queries for each stranger, as real ones come: the owner keeps what it knows of a caller.
    for _ in range(count // 20):
        who = stranger()
        purposes = dice.choice([("answer:task",), ("tool:contact-lookup",), ("x",)])
        for _ in range(20):
            query = " ".join(dice.choices([*WORDS, *HOSTILE], k=dice.randint(1, 3)))
            ask = Ask(query, who=Who(who.tenant, who.project, who.session, purposes), k=dice.choice([None, 1, 1000]))
            if legal(who.tenant, who.project, who.session):
                found = store.call("memory.search", ask)
                assert (found.claims, found.rejected, found.candidates) == ([], [], 0), (who, query)
                tried += 1
            else:
                with pytest.raises(InputError):
                    store.call("memory.search", ask)
    assert tried > count / 3


@pytest.mark.parametrize("which", ["tenant", "project", "session"])
def test_no_other_door_opens_either(filled: tuple[Store, list[str]], which: str) -> None:
    store, ids = filled
    dice = random.Random(which)
    stranger = strangers(dice)[which]
    before = store.sql(
        "SELECT id, utility, confidence, merged_into, text FROM claims WHERE tenant = 'acme' ORDER BY id"
    )
    for _ in range(25):
        who = next(who for who in iter(stranger, None) if legal(who.tenant, who.project, who.session))
        mine = memory(store, tenant=who.tenant, project=who.project, session=who.session)
        in_shop = which != "session" and who.project != WEB
        claim = dice.choice(ids if in_shop else ids[len(ids) // 2 :])
        assert list(mine.list(limit=5)) == []
        assert len(mine.activate("plan")) == 0
        own = dice.choice(ids)
        for call in (
            lambda: mine.get(claim),  # noqa: B023 - called at once
            lambda: mine.update(claim, text="taken over"),  # noqa: B023
            lambda: mine.vote(claim, "harmful"),  # noqa: B023
            lambda: mine.vote(claim, "duplicate", of=own),  # noqa: B023
            lambda: mine.link(claim, own),  # noqa: B023
            lambda: mine.forget(claim),  # noqa: B023
        ):
            with pytest.raises((NotFoundError, InputError)):
                call()
    after = store.sql("SELECT id, utility, confidence, merged_into, text FROM claims WHERE tenant = 'acme' ORDER BY id")
    assert after == before


@pytest.mark.parametrize("name", [name for name in HOSTILE if not legal(name)])
def test_what_is_no_name_is_refused(filled: tuple[Store, list[str]], name: str) -> None:
    store, _ = filled
    for field in ("tenant", "project", "session"):
        with pytest.raises(InputError, match=f"{field}: "):
            memory(store, **{field: name})


@pytest.mark.parametrize("name", [name for name in HOSTILE if legal(name)])
def test_hostile_names_are_names_like_others(filled: tuple[Store, list[str]], name: str) -> None:
    """Whoever has such a name finds what is theirs, and nobody else does."""
    store, _ = filled
    mine = memory(store, tenant=name, project=name, session=name)
    claim = mine.add(f"plan of {name}", scope="session")
    assert [one.id for one in mine.search("plan")] == [claim]
    assert mine.get(claim).tenant == name
    for other in random.Random(name).sample(HOSTILE, 4):
        if other != name and legal(other):
            with pytest.raises(NotFoundError):
                memory(store, tenant=other, project=name, session=name).get(claim)
    assert mine.forget(claim) == 1
