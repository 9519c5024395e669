"""Is this regular expression safe to run on any text? It must not explode when compiled, nor later."""

import re

LONGEST = 10_000
LARGEST = 100_000
"""In items, with every counted repeat expanded, as the engine does when it compiles."""

_ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
_RECURSION = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[-+]?\d+|&\w+|P>\w+)\)")


def pattern_fault(pattern: str) -> str:
    """What is wrong with a pattern; empty if nothing is.

    >>> pattern_fault("(?R)")
    'calls itself, which may never end'
    >>> pattern_fault("a(")
    'is not a regular expression: missing ) at position 2'
    """
    import regex

    if len(pattern) > LONGEST:
        return f"has {len(pattern):,} characters; the limit is {LONGEST:,}"
    if _RECURSION.search(pattern):
        return "calls itself, which may never end"
    if written_out(pattern) > LARGEST:
        return f"expands to more than {LARGEST:,} items"
    try:
        empty = regex.compile(pattern).search("", timeout=1.0)
    except (regex.error, OverflowError, RecursionError, TimeoutError, MemoryError, ValueError) as error:
        return f"is not a regular expression: {error or type(error).__name__}"
    return "" if empty is None else "matches the empty text, so it would match everywhere"


def written_out(pattern: str) -> int:
    """How many items a pattern has when each counted repeat is expanded.

    >>> written_out("ab{3}"), written_out("(ab{3}){10}"), written_out(r"[0-9]{4}-\\d{2}")
    (4, 40, 7)
    """
    open_groups, here, last = [], 0, 0
    for match in _ITEM.finditer(pattern):
        item = match[0]
        if item == "(":
            open_groups.append(here)
            here, last = 0, 0
        elif item == ")" and open_groups:
            last = here
            here += open_groups.pop()
        elif match[1] is not None:
            more = last * (max(int(match[1][:9]), 1) - 1)
            here, last = here + more, last + more
        else:
            here, last = here + 1, 1
        if here > LARGEST:
            return here
    return here + sum(open_groups)
