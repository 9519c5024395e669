"""Text of others inside HTML and SVG: it is shown, and does nothing."""

from html import escape

from scalepan.errors import printable


def as_markup(text: str) -> str:
    """Text with its signs escaped, and what turns or hides letters written out; line breaks stay.

    >>> as_markup("<b> \\u202etxt")
    '&lt;b&gt; \\\\u202etxt'
    """
    return escape("\n".join(map(printable, text.split("\n"))))
