"""Which words mean too little to be searched for?

Short on purpose: BM25 gives a common word little weight anyway, and `may`, `will`, `us`, `who` and `can` are names too.
"""

_ENGLISH = """
    a an the this that these those
    and or but if so than then as of to in on at by for from with into about
    i me my we our you your he him his she her it its they them their
    am is are was were be been being do does did done have has had having
    not no there here what which how when where
    don't doesn't didn't isn't aren't wasn't weren't won't can't i'm i've i'd i'll it's that's you're we're they're
"""
# する, ある, いる, なる, できる, こと, もの, ため, よう: in the forms that Sudachi's dictionaries give them.
_JAPANESE = "為る 有る 居る 成る 出来る こと 事 もの 物 ため 為 よう 様"

ENGLISH = frozenset(_ENGLISH.split())
JAPANESE = frozenset(_JAPANESE.split())
