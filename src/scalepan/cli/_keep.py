"""`--keep`: what a command worked out goes into the store too, with what it was made of."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from scalepan.cli._common import complain
from scalepan.errors import counted

if TYPE_CHECKING:
    from scalepan.store.receipts import Receipt

T = TypeVar("T")
AT_ONCE = 500

keep_option = click.option("--keep", is_flag=True, help="Store each number, for 'scalepan explain'.")


def kept(rows: Iterable[T], receipt: "Callable[[T], Receipt]", store_file: Path | None) -> Iterator[T]:
    """The same rows, each as soon as its number is kept; a few hundred at a time."""
    from scalepan.receipts import keep
    from scalepan.store import Store

    remaining, count = iter(rows), 0
    with Store(store_file) as store:
        while some := list(islice(remaining, AT_ONCE)):
            count += len(keep(store, map(receipt, some)))
            yield from some
        complain(
            f"{counted(count, 'number')} kept in {store.path}; 'scalepan explain' with an id from above recomputes one"
        )
