"""A text that is known is told again: what does its claim learn? Where it stands, and when it is true."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scalepan.memory.claim import PERIOD, PLACE
from scalepan.store.rows import ClaimRow

if TYPE_CHECKING:
    from scalepan.store import Here


def fill_in(here: "Here", told: Sequence[tuple[str, ClaimRow]]) -> list[str]:
    """Give claims what they did not know, from rows that were to be kept and are there already; which ones learned.

    What is told first stays, place and period each as a whole: half of one and half of another would be neither.
    """
    news: dict[str, dict[str, Any]] = {}
    for id_, row in told:
        if id_ != row.id:
            for names in (PLACE, PERIOD):
                if not news.get(id_, {}).keys() & set(names):
                    news.setdefault(id_, {}).update(_said(row, names))
    news = {id_: new for id_, new in news.items() if new}
    learned = []
    for id_, row in (here.claims.by_ids(news) if news else {}).items():
        known = {name for names in (PLACE, PERIOD) if _said(row, names) for name in names}
        new = {name: value for name, value in news[id_].items() if name not in known}
        if new:
            here.claims.update(id_, **new)
            if "speaker" in new:
                here.vectors.clear(id_)  # it was made without the speaker, and is made again in passing
            learned.append(id_)
    return learned


def _said(row: ClaimRow, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(row, name)) is not None}
