"""Hooks: other tools run a command of ours when something happens, and tell it what on standard input."""
