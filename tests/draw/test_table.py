"""Tables at any width: nothing is lost, and no number is ever cut or broken."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from scalepan.draw.table import DrawnTable

WIDTHS = (80, 120, 200)
NUMBER = re.compile(r"\d[\d.,:]*\d|\d")


def drawn(table: DrawnTable, width: int) -> str:
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def numbers(text: str) -> Counter[str]:
    return Counter(NUMBER.findall(text))


ROWS = [
    ["value.profiles.customer_service.tool_diversity", "0.75", "share", "how much a sure outcome counts"],
    ["boundary.scopes", '["session", "project", "principle"]', "", "scopes that are searched at all, 3 of them"],
]
COLUMNS = ["key", "value", "legal", "why"]


@pytest.mark.parametrize("width", [40, 60, *WIDTHS])
def test_no_number_is_cut(width: int) -> None:
    out = drawn(DrawnTable(COLUMNS, ROWS, ["value"]), width)
    assert re.search(r"0\.75(?!\d)", out)
    assert max(map(cell_len, out.splitlines())) <= width
    assert numbers(out) == numbers(drawn(DrawnTable(COLUMNS, ROWS, ["value"]), 1000))


def test_where_it_fits_it_is_a_plain_table() -> None:
    out = drawn(DrawnTable(["a", "n"], [["x", "1.5"], ["yy", "22.25"]], ["n"]), 80)
    assert [line.rstrip() for line in out.splitlines()] == ["a       n", "x     1.5", "yy  22.25"]


def test_where_it_does_not_rows_become_records() -> None:
    out = drawn(DrawnTable(COLUMNS, ROWS, ["value"]), 60)
    assert out.splitlines()[:4] == [
        "value.profiles.customer_service.tool_diversity",
        "  value  0.75",
        "  legal  share",
        "  why    how much a sure outcome counts",
    ]


def test_a_long_word_is_broken_after_a_sign_and_not_inside_a_number() -> None:
    path = "/home/somebody/projects/2026.11.18/" + "x" * 30 + "/notes-0.123456789.duckdb"
    for width in range(14, 60):
        lines = [line.strip() for line in drawn(DrawnTable(["file"], [[path]]), width).splitlines()]
        assert "".join(lines).removeprefix("file") == path
        assert any("0.123456789" in line for line in lines), width


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)
FIGURES = st.floats(0, 1e6).map(lambda value: f"{value:.3f}")
CELLS = st.lists(st.one_of(WORDS, FIGURES), max_size=6).map(" ".join)


@given(st.lists(st.tuples(CELLS, FIGURES, CELLS), min_size=1, max_size=5), st.sampled_from([40, *WIDTHS]))
def test_nothing_is_lost_at_any_width(rows: list[tuple[str, str, str]], width: int) -> None:
    out = drawn(DrawnTable(["name", "figure", "note"], rows, ["figure"]), width)
    assert all(cell_len(line) <= width for line in out.split("\n"))
    wanted = Counter("".join("".join(row) for row in rows))
    found = Counter(out)
    assert all(found[character] >= count for character, count in wanted.items() if not character.isspace())
    assert all(figure in out for _, figure, _ in rows)
