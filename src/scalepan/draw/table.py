"""A table that fits the screen: text wraps, numbers never do, and if it is still too wide, rows become records."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table as Grid
from rich.text import Text

Cell = str | Text
GAPS = (2, 1)
"""Space between columns; the second if the first leaves too little room."""
LONGEST_NAME, LONGEST_WORD, LONGEST_LAST, LONGEST_NUMBER = 50, 26, 16, 30
"""The narrowest unbroken width: a word in the first, a middle and the last column, a whole cell of numbers."""
NARROWEST, NARROWEST_LAST = 12, 20
"""A text column is not made narrower than this, if it has that much text."""
INDENT = 2
LOOK_AHEAD = 64
"""How far past the edge to look for a number that would be cut there."""

_NUMBER = re.compile(r"[-+]?\d[\d,.:]*(?:[eE][-+]?\d+)?%?")


class DrawnTable:
    """Columns and rows; the columns named in `right` hold numbers."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]], right: Iterable[str] = ()) -> None:
        self._columns = [Text(name, "bold") for name in columns]
        self._rows = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
        self._right = {place for place, name in enumerate(columns) if name in set(right)}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for gap in GAPS:
            widths = self._widths(options.max_width - gap * (len(self._columns) - 1))
            if widths is not None:
                yield self._grid(widths, gap)
                return
        yield from self._records(options.max_width)

    def _widths(self, room: int) -> list[int] | None:
        """The width of each column; None if even the narrowest do not fit."""
        cells = [list(column) for column in zip(self._columns, *self._rows, strict=True)]
        widths = [max(cell.cell_len for cell in column) for column in cells]
        least = [self._least(place, column, widths[place]) for place, column in enumerate(cells)]
        excess = sum(widths) - room
        while excess > 0:
            # The widest column shrinks first, so that no column gets very narrow while another has room.
            spare = [place for place, width in enumerate(widths) if width > least[place]]
            if not spare:
                return None
            widest = max(spare, key=lambda place: widths[place])
            widths[widest] -= 1
            excess -= 1
        return widths

    def _least(self, place: int, column: Sequence[Text], width: int) -> int:
        if place in self._right and width <= LONGEST_NUMBER:
            return width
        last = place == len(self._columns) - 1
        longest = LONGEST_NAME if place == 0 else LONGEST_LAST if last else LONGEST_WORD
        floor = NARROWEST_LAST if last else NARROWEST
        pieces = [piece for cell in column for piece in _pieces(cell.plain, longest)]
        return min(width, max(floor, *(cell_len(piece) for piece in pieces), 0))

    def _grid(self, widths: Sequence[int], gap: int) -> Grid:
        grid = Grid(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
        for place, (name, width) in enumerate(zip(self._columns, widths, strict=True)):
            justify: JustifyMethod = "right" if place in self._right else "left"
            grid.add_column(_folded(name, width), justify=justify, width=width, no_wrap=True)
        for row in self._rows:
            grid.add_row(*(_folded(cell, width) for cell, width in zip(row, widths, strict=True)))
        return grid

    def _records(self, room: int) -> Iterator[Text]:
        """Each row as lines: its first cell, then the others below it with their names."""
        named = max((name.cell_len for name in self._columns[1:]), default=0)
        for first, *others in self._rows:
            yield _folded(first, room)
            for name, cell in zip(self._columns[1:], others, strict=True):
                if cell.plain.strip():
                    label = Text(" " * INDENT) + Text(f"{name.plain:<{named}}  " if named else "", "dim")
                    yield _hung(label, cell, room)


def _hung(label: Text, cell: Text, room: int) -> Text:
    """A cell after its label, further lines below the first."""
    lines = _lines(cell, max(room - label.cell_len, 1))
    return Text("\n").join([label + lines[0], *(Text(" " * label.cell_len) + line for line in lines[1:])])


def _folded(cell: Text, width: int) -> Text:
    return Text("\n").join(_lines(cell, width)) if cell.cell_len > width or "\n" in cell.plain else cell


def _lines(cell: Text, width: int) -> list[Text]:
    """A text in lines of at most `width` cells, broken between words if possible."""
    lines: list[Text] = []
    for part in cell.split("\n", allow_blank=True):
        pieces = part.divide(_cuts(part.plain, width))
        for piece in pieces[:-1]:
            piece.rstrip()
        lines += pieces
    return lines


def _cuts(text: str, width: int) -> list[int]:
    cuts: list[int] = []
    start, left = 0, cell_len(text)
    while left > width:
        window = text[start : start + width + LOOK_AHEAD]
        if cell_len(window) <= width:  # zero-width characters
            window = text[start:]
        end = start + _break(window, width)
        end += len(text[end : end + LOOK_AHEAD]) - len(text[end : end + LOOK_AHEAD].lstrip())
        left -= cell_len(text[start:end])
        start = end
        cuts.append(start)
    return cuts


def _break(text: str, width: int) -> int:
    """Where to break: after a space, after punctuation, or at the edge; never inside a number that fits a line."""
    fits = 0
    used = 0
    for fits, character in enumerate(text):  # noqa: B007 - used after the loop
        used += cell_len(character)
        if used > width:
            break
    fits = max(fits, 1)
    if text[fits].isspace():
        return fits
    blank = text.rfind(" ", 1, fits) + 1
    if text[:blank].strip():
        return blank
    numbers = [match.span() for match in _NUMBER.finditer(text)]
    whole = [at for at in range(fits, 0, -1) if not any(start < at < end for start, end in numbers)]
    signs = [at for at in whole if not text[at - 1].isalnum()]
    return (signs or whole or [fits])[0]


def _pieces(text: str, longest: int) -> Iterator[str]:
    """The unbreakable pieces of a text: its words and, in words that are too long, their numbers."""
    for word in text.split():
        if cell_len(word) <= longest:
            yield word
        else:
            yield from (number for number in _NUMBER.findall(word) if len(number) <= longest)
