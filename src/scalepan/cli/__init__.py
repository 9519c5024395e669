"""The `scalepan` command: one file per command group, each a thin shell over the library."""

from scalepan.cli._app import main, scalepan

__all__ = ["main", "scalepan"]
