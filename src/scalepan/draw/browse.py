"""A long list on a page: items open on a click; a small script sorts and filters, and without it nothing is lost."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scalepan.draw.markup import as_markup

STYLE = """
#controls { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: end; margin: .6rem 0; }
#controls[hidden] { display: none; }
#controls label { display: flex; flex-direction: column; font-size: .8rem; color: var(--quiet); }
#controls label.text { flex: 1 1 14rem; }
input, select { font: inherit; color: var(--ink); background: var(--ground); border: 1px solid var(--quiet);
                border-radius: 4px; padding: .3rem .5rem; max-width: 100%; box-sizing: border-box; }
select { max-width: 15rem; } #shown { margin: 0 0 .4rem; min-height: 1.5em; }
.head, .item > summary { display: grid; grid-template-columns: 5.2rem minmax(0, 1fr) 4rem 4rem 4rem 6.2rem;
                         gap: 0 .8rem; align-items: baseline; }
.head { position: sticky; top: 0; z-index: 1; background: var(--ground); border-bottom: 2px solid var(--line);
        padding: .3rem 0; }
.head button { font: inherit; font-size: .85rem; font-weight: 600; color: var(--ink); background: none; border: 0;
               padding: .2rem 0; text-align: right; cursor: pointer; white-space: nowrap; }
.head button:nth-child(-n+2) { text-align: left; } .head button:disabled { cursor: default; color: var(--quiet); }
.head button[data-way="1"]::after { content: " \\25b2"; } .head button[data-way="-1"]::after { content: " \\25bc"; }
.item { padding: 0; } .item[hidden] { display: none; }
.item > summary { padding: .45rem 0; list-style: none; white-space: normal; }
.item > summary::-webkit-details-marker { display: none; }
.item > summary:hover { background: var(--tint); } .item[open] > summary { background: var(--tint); }
.item .value::before { content: "\\25b8"; color: var(--quiet); display: inline-block; width: 1.1rem; }
.item[open] .value::before { content: "\\25be"; }
.item .value { font-weight: 600; } .item .good { color: var(--good); }
.item .what { min-width: 0; overflow-wrap: anywhere; }
.item .title { display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden; }
.item[open] .title { display: block; }
.item .about { display: block; font-size: .85rem; color: var(--quiet); }
.item .number { text-align: right; } .item .label { display: none; }
.item .inside { padding: .2rem 0 1rem 1.1rem; }
@media (max-width: 44rem) {
  .head { display: none; }
  .item > summary { display: block; position: relative; padding-left: 4.6rem; }
  .item .value { position: absolute; left: 0; top: .45rem; }
  .item .number { display: inline; font-size: .85rem; color: var(--quiet); margin-right: .8rem; }
  .item .label { display: inline; } .item .number.none { display: none; } .item .inside { padding-left: 0; }
}
"""

SCRIPT = """
(() => {
  "use strict";
  const list = document.getElementById("items"), controls = document.getElementById("controls");
  const shown = document.getElementById("shown"), text = document.getElementById("text");
  const selects = [...controls.querySelectorAll("select")], buttons = [...document.querySelectorAll(".head button")];
  const order = document.getElementById("order");
  const rows = [...list.children].map((item, at) => ({
    item, at, keys: JSON.parse(item.dataset.keys), facets: JSON.parse(item.dataset.facets),
    words: [...item.querySelectorAll("summary .what, .where")].map(e => e.textContent).join(" ").toLowerCase(),
  }));
  const filter = () => {
    const wanted = text.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits = wanted.every(word => row.words.includes(word))
        && selects.every((select, at) => select === order || !select.value || row.facets[at] === Number(select.value));
      row.item.hidden = !fits;
      count += fits;
    }
    shown.textContent = count === rows.length ? `${count} shown` : `${count} of ${rows.length} shown`;
  };
  const sort = (column, way) => {
    const missing = value => value === null;
    rows.sort((a, b) => {
      const x = a.keys[column], y = b.keys[column];
      if (missing(x) || missing(y)) return missing(x) - missing(y) || a.at - b.at;
      return (x < y ? -way : x > y ? way : 0) || a.at - b.at;
    });
    list.append(...rows.map(row => row.item));
    buttons.forEach((button, at) => {
      if (at === column) button.dataset.way = way; else delete button.dataset.way;
      button.setAttribute("aria-pressed", at === column);
    });
    order.value = `${column},${way}`;
  };
  buttons.forEach((button, at) => {
    button.disabled = false;
    button.addEventListener("click", () => {
      const way = Number(button.dataset.way || 0);
      sort(at, way ? -way : at === 1 ? 1 : -1);
    });
  });
  order.addEventListener("change", () => sort(...order.value.split(",").map(Number)));
  text.addEventListener("input", filter);
  for (const select of selects) if (select !== order) select.addEventListener("change", filter);
  controls.hidden = false;
  sort(0, -1);
  filter();
})();
"""


class Item(NamedTuple):
    """One thing in the list. Everything but `body` is text."""

    keys: tuple[float | str | None, ...]
    """What each column sorts by."""
    facets: tuple[int, ...]
    """The place of its name in each filter."""
    value: str
    good: bool
    title: str
    about: str
    numbers: tuple[str, ...]
    body: str


def browsed(columns: Sequence[str], filters: Mapping[str, Sequence[str]], items: Iterable[Item]) -> str:
    """The list with its controls. `columns` name the keys of an item, `filters` the names to choose from."""
    choices = "".join(_choice(name, names) for name, names in filters.items())
    ways = "".join(
        f'<option value="{place},{way}">{as_markup(name)}, {said}</option>'
        for place, name in enumerate(columns)
        for way, said in ((-1, "descending"), (1, "ascending"))
    )
    head = "".join(f'<button type="button" disabled>{as_markup(name)}</button>' for name in columns)
    return (
        '<div id="controls" hidden><label class="text">Search'
        '<input id="text" type="search" autocomplete="off"></label>'
        f'{choices}<label>Order<select id="order">{ways}</select></label></div>'
        f'<p id="shown" class="quiet" role="status"></p><div class="head">{head}</div>\n<div id="items">'
        + "\n".join(_item(item, columns) for item in items)
        + "</div>"
    )


def _choice(name: str, names: Sequence[str]) -> str:
    options = "".join(f'<option value="{place}">{as_markup(one)}</option>' for place, one in enumerate(names))
    return f'<label>{as_markup(name)}<select><option value="">all</option>{options}</select></label>'


def _item(item: Item, columns: Sequence[str]) -> str:
    from msgspec.json import encode

    numbers = "".join(
        f'<span class="number{"" if said else " none"}"><span class="label">{as_markup(name.lower())} </span>'
        f"{as_markup(said)}</span>"
        for name, said in zip(columns[2:], item.numbers, strict=True)
    )
    keys, facets = (as_markup(encode(part).decode()) for part in (item.keys, item.facets))
    return (
        f'<details class="item" data-keys="{keys}" data-facets="{facets}"><summary>'
        f'<span class="value{" good" if item.good else ""}">{as_markup(item.value)}</span>'
        f'<span class="what"><span class="title">{as_markup(item.title)}</span>'
        f'<span class="about">{as_markup(item.about)}</span></span>{numbers}</summary>'
        f'<div class="inside">{item.body}</div></details>'
    )
