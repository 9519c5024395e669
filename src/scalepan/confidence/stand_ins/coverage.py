"""Does the answer cover what was asked? A stand-in for a judge: the query's words and names, looked for there.

An answer that repeats the question covers it. Whether it is right is what `support` looks at.
"""

from scalepan.confidence.stand_ins.claims import facts
from scalepan.confidence.stand_ins.library import Library
from scalepan.confidence.stand_ins.likeness import Likeness
from scalepan.confidence.stand_ins.support import STAND_IN
from scalepan.embed import Embedder
from scalepan.policy.stand_ins import StandIns
from scalepan.score import Part, Score, not_measured
from scalepan.text import terms

NAME = "query_coverage"
_DEFAULT = StandIns()
# What a question is asked with, and nothing that an answer has to take up.
_ASKING = frozenset(
    term
    for text in (
        "who whom whose why please tell explain describe show give list find know want need help can could",
        "would should",
        "教えて 説明 下さい ください 何 なに いつ どこ 誰 だれ なぜ どう どの どれ いくつ 知りたい お願い",
    )
    for word in text.split()
    for term in {*terms(word), *terms(word, "off"), word}
)


def coverage(query: str, answer: str, encoder: Embedder | None = None, policy: StandIns = _DEFAULT) -> Score:
    """How much of the query the answer takes up: its content words, its names and numbers, and its meaning.

    >>> score = coverage("How do I cancel the annual plan?", "You cancel a plan in the settings.")
    >>> [(part.name, round(part.value, 2)) for part in score.parts]
    [('words', 0.67)]
    """
    if not query.strip():
        return not_measured(NAME, "the query is empty")
    if not answer.strip():
        return not_measured(NAME, "the answer is empty")
    library = Library([answer])
    few = len(library.texts) < policy.max_embedded
    likeness = Likeness([query, *library.texts] if few else [], encoder, policy)
    measured = [
        ("words", policy.coverage.words, _words(query, library)),
        ("names", policy.coverage.names, _names(query, library)),
        ("meaning", policy.coverage.meaning, _meaning(query, library.texts, likeness)),
    ]
    there = [(name, weight, value) for name, weight, value in measured if value is not None and weight > 0]
    total = sum(weight for _, weight, _ in there)
    if not there:
        return not_measured(NAME, "the query has no content words")
    note = f"{STAND_IN}: {likeness.note(1 + len(library.texts))}"
    parts = tuple(Part(name, value, weight / total, note=note) for name, weight, value in there)
    base = 0.0
    for part in parts:
        base += part.adds
    base = min(1.0, base)
    return Score(NAME, base, parts=parts, base=base)


def _words(query: str, library: Library) -> float | None:
    wanted = [term for term in facts(query).terms if term not in _ASKING]
    if not wanted:
        return None
    found = {term for fact in library.facts for term in fact.words}
    return sum(term in found for term in wanted) / len(wanted)


def _names(query: str, library: Library) -> float | None:
    """The share of its names, numbers and dates that the answer has."""
    asked = facts(query)
    found = [not library.missing(name) for name in asked.names]
    found += [library.has_number(number) for number in asked.numbers]
    found += [library.has_date(date) for date in asked.dates]
    return sum(found) / len(found) if found else None


def _meaning(query: str, told: list[str], likeness: Likeness) -> float | None:
    rows = likeness.between([query], told)
    return None if rows is None else float(rows.max())
