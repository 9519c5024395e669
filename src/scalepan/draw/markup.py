"""Untrusted text inside HTML and SVG: it is shown and cannot run."""

from html import escape

from scalepan.errors import printable


def as_markup(text: str) -> str:
    """Escaped text, with direction overrides and invisible characters written out; line breaks stay.

    >>> as_markup("<b> \\u202etxt")
    '&lt;b&gt; \\\\u202etxt'
    """
    return escape("\n".join(map(printable, text.split("\n"))))
