"""Values of logs that are not what a reader expects."""

from typing import Any

from scalepan.trace.readers.lenient import TOO_DEEP, words


def test_text_that_is_nested_deeper_than_can_be_followed() -> None:
    """Python 3.13 decodes it; following it would end in a traceback."""
    nested: Any = "the end"
    for _ in range(5000):
        nested = [{"content": nested}]
    assert words(nested) == TOO_DEEP
    assert words([{"content": [{"content": "the end"}]}]) == "the end"
