"""Standard output and error as they may be: closed, or of an encoding that lacks most characters."""

import codecs
import os
import sys
from io import TextIOWrapper

HANDLER = "scalepan"
# What tables and messages are drawn with, each as one character that every terminal has.
PLAIN = str.maketrans("█▉▊▋▌▍▎▏✓✗–—…←→×≥≤─│•’‘“”", "#######-+x--.<-x><-|*''\"\"")


def set_up() -> None:
    """Nothing that is printed can fail for want of a character; a closed stream swallows all."""
    # Daemons and cron may start a program with its standard streams closed.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    codecs.register_error(HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors=HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks: a drawing in plain characters, any other character by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end
