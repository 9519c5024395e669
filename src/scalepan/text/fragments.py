"""Does a text contain something literal: a quoted phrase, a piece of code, an address?"""

import re

from scalepan.text.normal import normal_form, visible

# Within one line, and short: a longer quote is speech, not a phrase to search for.
_QUOTED = re.compile(
    r'"(?<!\w.)(?=\S)([^"\n]{2,80})(?<=\S)"(?!\w)'
    r"|“([^“”\n]{2,80})”|「([^「」\n]{2,80})」|『([^『』\n]{2,80})』|`([^`\n]{2,80})`"
)
_CODE = re.compile(
    r"""(?=[\x00-\x7f])(?:                          # nothing below begins otherwise, and most text fails here
      [a-z]://\w | \bwww\.\w | (?<=\w)@\w         # addresses
    | (?<=[^\W_])_+[^\W_] | \b__\w                # snake_case
    | \b[a-z]{2,}\d*[A-Z][a-z] | \b[a-z]{4,}[A-Z] # camelCase; not iPhone, GitHub and miRNA
    | \b(?:[A-Z][a-z0-9]+){3}                      # LongClassName
    | \b[A-Za-z_]\w+\.[A-Za-z_]\w                 # dotted.path and file.name; not e.g. and U.S.
    | \bv\d+\.\d | \b\d+\.\d+\.\d                # versions
    | (?:^|\s)(?:~|\.{1,2})?/\.?\w                # /paths
    | (?<=\w)/\w+[/.]\w                           # and/more/paths; not and/or
    | \b[A-Za-z]:\\ | (?<=\w)\\\w
    | (?<=\w)\(\) | (?:^|\s)--?[a-z] | (?<=\w)::\w  # calls, options, scopes
    | [=!<>]= | [-=]> | && | \|\| | </?\w+>        # operators, tags
    | [{}]
    )""",
    re.VERBOSE,
)
_LONGEST_QUERY = 10_000  # text pasted beyond this does not change what is searched


def phrases(text: str) -> list[str]:
    """The quoted phrases of a visible text, in normal form.

    >>> phrases('find "Exact  Phrase" in 「自動更新」')
    ['exact phrase', '自動更新']
    """
    return [normal_form(match[match.lastindex or 0]) for match in _QUOTED.finditer(text)]


def has_fragment(text: str) -> bool:
    """Whether the text side should count more: the text has a piece of code, a quote or a URL.

    >>> has_fragment("why does scalepan.memory fail?"), has_fragment("why does it fail?")
    (True, False)
    """
    text = visible(text[:_LONGEST_QUERY])
    return _CODE.search(text) is not None or _QUOTED.search(text) is not None
