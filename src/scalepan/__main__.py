"""`python -m scalepan` is the same as `scalepan`."""

from scalepan.cli import main

main()
