"""`python -m karat` is the same as `karat`."""

from karat.cli import main

main()
