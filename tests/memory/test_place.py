"""Where a claim stands: conversation, turn, speaker, source, position and time, all of it optional."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.memory import Memory
from scalepan.memory.claim import PLACE, Provenance, written
from scalepan.memory.recall.candidates.columns import ClaimColumns, Entry
from scalepan.memory.recall.candidates.places import NOWHERE
from scalepan.memory.requests import Agree
from scalepan.store.duckdb.schema import MIGRATIONS
from scalepan.store.own import Nothing
from scalepan.store.rows import ClaimRow
from tests.memory.conftest import Open

PLACED: dict[str, Any] = {
    "conversation": "stand-up 12",
    "turn": 3,
    "speaker": "Aoi",
    "position": 7,
    "said_at": "2023-05-08T13:56:00+00:00",
}


def agrees(memory: Memory) -> bool:
    return not memory.store.call("memory.agree", Agree(who=memory.who, overlay=memory.overlay)).problems


def test_it_comes_back_with_the_claim(memory: Memory) -> None:
    id_ = memory.add("The lake was cold", source="diary.md", **PLACED)
    claim = memory.get(id_)
    assert claim.place() == PLACED
    assert claim.provenance.source == "diary.md"
    (found,) = memory.search("lake")
    assert found.claim.place() == PLACED
    assert PLACED.items() <= found.to_dict().items()
    assert [one.place() for one in memory.list()] == [PLACED]
    assert agrees(memory)


def test_a_claim_that_says_nothing_of_it_is_shown_without(memory: Memory) -> None:
    memory.add("The lake was cold")
    (found,) = memory.search("lake")
    assert not found.claim.place()
    assert not set(PLACE) & found.to_dict().keys()
    (exported,) = memory.export()
    assert not set(PLACE) & exported.keys()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("2023-05-08T13:56:00", "2023-05-08T13:56:00+00:00"),  # without a zone it is UTC
        ("2023-05-08T13:56:00+09:00", "2023-05-08T04:56:00+00:00"),
        ("2023-05-08", "2023-05-08T00:00:00+00:00"),
    ],
)
def test_a_time_is_kept_as_a_moment(memory: Memory, said: str, kept: str) -> None:
    assert memory.get(memory.add("The lake was cold", said_at=said)).said_at == kept


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("conversation", "", "conversation: is empty"),
        ("conversation", "a\x1b[2J", "conversation: 'a\\x1b[2J' has a character that is not legal here"),
        ("conversation", "dm aoi@example.com", "conversation: looks like a secret (email)"),
        ("turn", -1, "turn: -1 is not between 0 and 1e+09"),
        ("turn", 2**31, "turn: 2147483648 is not between 0 and 1e+09"),
        ("turn", "three", "turn: 'three' is not a whole number"),
        ("speaker", "", "speaker: is empty"),
        ("said_at", "last week", "said_at: 'last week' is not a time such as 2026-01-31T12:00:00+00:00"),
        ("source", "other.md", "source: is given twice, here and in provenance"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_and_nothing_is_kept(
    memory: Memory, field: str, value: Any, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        memory.add("The lake was cold", provenance={"source": "diary.md"}, **{field: value})
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert memory.stats().claims == 0


def test_who_spoke_is_redacted_as_names_are(memory: Memory) -> None:
    id_ = memory.add("The lake was cold", speaker="Aoi\n<aoi@example.com>\x1b[31m")
    assert memory.get(id_).speaker == "Aoi <[pii:email]>"
    assert memory.update(id_, speaker="bo@example.com").speaker == "[pii:email]"
    hidden = memory.add("The lake was deep", speaker="\x1b[31m")
    assert memory.get(hidden).speaker is None


def test_it_is_changed_and_cleared_with_the_claim(memory: Memory) -> None:
    id_ = memory.add("The lake was cold", **PLACED)
    memory.search("lake")  # there is an index to keep in step
    assert memory.update(id_, turn=4).place() == PLACED | {"turn": 4}
    changed = memory.update(id_, clear=["turn", "speaker"], said_at="2024-01-01T00:00:00Z")
    assert changed.place() == {
        "conversation": "stand-up 12",
        "position": 7,
        "said_at": "2024-01-01T00:00:00+00:00",
    }
    assert changed.updated_at is None  # the text is what it was
    assert memory.search("lake")[0].claim.place() == changed.place()
    assert agrees(memory)
    with pytest.raises(InputError, match="clear: turn cannot be both given and cleared"):
        memory.update(id_, turn=1, clear=["turn"])
    with pytest.raises(InputError, match="'text' is not one of quality, conversation, turn"):
        memory.update(id_, clear=["text"])


def test_a_text_that_is_known_learns_where_it_stands_once(memory: Memory) -> None:
    id_ = memory.add("The lake was cold")
    memory.search("lake")
    assert memory.add("The lake was cold", **PLACED) == id_
    assert memory.get(id_).place() == PLACED
    assert memory.add("The lake was cold", conversation="another", turn=1) == id_
    assert memory.get(id_).place() == PLACED  # the first that was told stays
    assert memory.search("lake")[0].claim.place() == PLACED
    assert agrees(memory)


def test_it_goes_from_one_store_to_another(open_memory: Open) -> None:
    there, here = open_memory(tenant="there"), open_memory(tenant="here")
    there.add("The lake was cold", source="diary.md", **PLACED)
    there.add("Nothing is known of this")
    rows = list(there.export())
    here.import_([{**row, "id": None} for row in rows])
    assert [without_id(row) for row in here.export()] == unordered(without_id(row) for row in rows)


def without_id(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "id"}


def unordered(rows: Any) -> Any:
    """Equal to the same rows in any order."""

    class Same(list[Any]):
        def __eq__(self, other: object) -> bool:
            return sorted(map(str, self)) == sorted(map(str, other))  # type: ignore[call-overload]

    return Same(rows)


def test_forgetting_leaves_no_name_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        id_ = memory.add("The lake was cold", conversation="talk of Zarathustra", speaker="Quetzalcoatl")
        memory.forget(id_)
    assert not any(word in path.read_bytes() for word in (b"Zarathustra", b"Quetzalcoatl"))


def test_a_rescan_redacts_who_spoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        id_ = memory.add("The lake was cold", speaker="Aoi")
    with duckdb.connect(str(path)) as connection:  # as if it had been kept before there was the rule
        connection.execute("UPDATE claims SET speaker = 'aoi@example.com'")
    with Memory(path) as memory:
        assert memory.get(id_).speaker == "[pii:email]"  # on the way out in any case
        assert memory.rescan() == (1, 1)
        assert memory.store.sql("SELECT speaker FROM claims") == [["[pii:email]"]]


def test_over_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    path = tmp_path / "notes.duckdb"
    program = (
        "import sys; from scalepan.memory import Memory\n"
        "with Memory(sys.argv[1]) as memory:\n"
        "    id_ = memory.add('The river was warm', conversation='talk', turn=2, speaker='Bo', source='b.md')\n"
        "    print(memory.update(id_, position=9, clear=['turn']).place())\n"
        "    print(memory.search('lake')[0].claim.place() == memory.search('lake')[0].claim.place() != {})\n"
    )
    with Memory(path) as memory:
        memory.add("The lake was cold", **PLACED)
        memory.search("lake")
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == ["{'conversation': 'talk', 'speaker': 'Bo', 'position': 9}", "True"]
        assert memory.search("river")[0].claim.place() == {"conversation": "talk", "speaker": "Bo", "position": 9}
        assert agrees(memory)


def test_a_store_of_before_opens_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    path = tmp_path / "notes.duckdb"
    before = 7  # the last version that knew nothing of it
    with duckdb.connect(str(path)) as old:
        for script in MIGRATIONS[:before]:
            old.execute(script)
        old.execute("INSERT INTO meta VALUES ('version', ?)", [str(before)])
        old.execute(
            "INSERT INTO claims (id, tenant, project, text, normalized_text, kind, scope, boundary_class, "
            "content_hash, utility_at, created_at, provenance) SELECT 'clm_' || i, 'default', 'default', "
            "'The lake of day ' || i, 'the lake of day ' || i, 'fact', 'project', 'internal', 'hash' || i, "
            "TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-01', '{\"source\": \"diary.md\"}' FROM range(5) t(i)"
        )
    with Memory(path) as memory:
        claims = sorted(memory.list(), key=lambda claim: claim.id)
        assert [claim.text for claim in claims] == [f"The lake of day {i}" for i in range(5)]
        assert not any(claim.place() for claim in claims)
        assert len(memory.search("lake")) == 5
        assert memory.update("clm_3", **PLACED).place() == PLACED
        assert not memory.store.call("store.check", Nothing()).problems
        assert agrees(memory)
    assert path.with_name(f"{path.name}.v{before}.backup").exists()


def entry(
    number: int,
    *,
    tenant: str = "t",
    conversation: str | None = None,
    turn: int | None = None,
    said_at: float | None = None,
    source: str | None = None,
    position: int | None = None,
    speaker: str | None = None,
) -> Entry:
    row = ClaimRow(
        *(f"c{number}", tenant, "p", None, "text", "text", "fact", "project", "internal", f"{number}", 0.0, 0.0),
        provenance=msgspec.json.encode(Provenance(source=source)).decode(),
        conversation=conversation,
        turn=turn,
        said_at=said_at,
        position=position,
        speaker=speaker,
    )
    return Entry.of(row)


def columns(*entries: Entry) -> ClaimColumns:
    found = ClaimColumns()
    for one in entries:
        found.add([one])
    return found


def test_columns_by_row_number() -> None:
    found = columns(
        entry(0),
        entry(1, conversation="a", turn=4, speaker="Aoi", said_at=60.0),
        entry(2, tenant="other", conversation="a", speaker="AOI"),
        entry(3, conversation="a", source="x.md", position=0),
    ).places
    assert found.column("turn").tolist() == [NOWHERE, 4, NOWHERE, NOWHERE]
    assert found.column("position").tolist() == [NOWHERE, NOWHERE, NOWHERE, 0]
    assert np.isnan(found.column("said_at")).tolist() == [True, False, True, True]
    one, mine, theirs, too = found.column("conversation").tolist()
    assert one == NOWHERE
    assert mine == too != theirs  # a conversation of another tenant is another one, whatever its name
    assert found.column("speaker").tolist() == [NOWHERE, found.speakers["aoi"], found.speakers["aoi"], NOWHERE]


def test_nothing_is_held_where_no_claim_says() -> None:
    found = columns(entry(0), entry(1))
    assert not found.places.known
    assert found.places.column("turn").tolist() == [NOWHERE, NOWHERE]
    assert found.beside("conversation", np.array([0, 1]), 1).tolist() == [NOWHERE, NOWHERE]


def test_the_turn_before_and_after() -> None:
    found = columns(
        entry(0, conversation="a", turn=10),
        entry(1, conversation="b", turn=11),
        entry(2, conversation="a", turn=30),
        entry(3, conversation="a", turn=20),
        entry(4, conversation="a"),  # nobody knows when
    )
    rows = np.arange(5)
    assert found.beside("conversation", rows, 1).tolist() == [3, NOWHERE, NOWHERE, 2, NOWHERE]
    assert found.beside("conversation", rows, -1).tolist() == [NOWHERE, NOWHERE, 3, 0, NOWHERE]
    assert found.beside("conversation", rows, 2).tolist() == [2, NOWHERE, NOWHERE, NOWHERE, NOWHERE]
    found.remove(["c3"])
    assert found.beside("conversation", np.array([0, 2, NOWHERE]), 1).tolist() == [2, NOWHERE, NOWHERE]


def test_without_numbers_by_time_and_sources_by_position() -> None:
    found = columns(
        entry(0, conversation="a", said_at=30.0, source="x", position=2),
        entry(1, conversation="a", said_at=10.0, source="x", position=1),
        entry(2, conversation="a", said_at=20.0, source="y", position=1),
    )
    assert found.beside("conversation", np.arange(3), 1).tolist() == [NOWHERE, 2, 0]
    assert found.beside("source", np.arange(3), 1).tolist() == [NOWHERE, 0, NOWHERE]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([None, 1, 2]), st.sampled_from([None, 5.0, 6.0])),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_what_is_beside_what_does_not_depend_on_the_order_of_adds(places: list[Any], random: Any) -> None:
    entries = [entry(i, conversation=c, turn=t, said_at=s) for i, (c, t, s) in enumerate(places)]
    shuffled = random.sample(entries, len(entries))
    assert neighbors(columns(*entries)) == neighbors(columns(*shuffled))


def neighbors(found: ClaimColumns) -> dict[str, str]:
    beside = found.beside("conversation", np.arange(len(found)), 1).tolist()
    return {id_: found.ids[row] for id_, row in zip(found.ids, beside, strict=True) if row != NOWHERE}


def test_a_place_says_only_what_is_known() -> None:
    claim = entry(0, turn=0, said_at=0.0).claim
    assert claim.place() == {"turn": 0, "said_at": written(0)}
