"""The `karat` command: one file per command group, each a thin shell over the library."""

from karat.cli._app import karat, main

__all__ = ["karat", "main"]
