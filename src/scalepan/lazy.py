"""Packages whose names load when they are first used, so that importing one part of a package loads only that part."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazily(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from its modules to the public names in each.

    __getattr__, __dir__ = lazily(__name__, {"scalepan.memory.claim": ["Claim"]})
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: list(sys.modules[package].__all__)
