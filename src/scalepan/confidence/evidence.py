"""What the gate asks for beyond the contract's level: evidence, rules over the call, and names that always ask.

The score and `decide_action` are the contract's. The gate may only be stricter: nothing here lowers a level.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isnan
from numbers import Integral, Real
from typing import Any, NamedTuple

import msgspec

from scalepan.confidence.decide import ACTIONS, ActionDecision, InterventionLevel
from scalepan.confidence.formula import ConfidenceScore
from scalepan.errors import own_words
from scalepan.policy.confidence import Confidence
from scalepan.policy.invariants import InvariantError, holds
from scalepan.score import Score

LEVELS = tuple(InterventionLevel)
"""From going on to handing over."""
OWN_WORD = ("llm_self_eval", "query_coverage", "tool_success")
"""Parts that show no evidence by themselves: a model's opinion, and a rate that stands at 1 where no tool ran."""
NO_EVIDENCE = "it rests on the agent's own word alone: no search result, no tool result, no source"


class Ruling(NamedTuple):
    """The gate's own decision."""

    decision: ActionDecision
    because: str
    """Why a person is asked, as a sentence for that person."""
    raised_to: str | None = None
    """The level that the action itself calls for, by a rule or by `always_ask`."""


def evidence_of(score: Score) -> tuple[str, ...]:
    """What a score rests on beside the agent's own word.

    >>> evidence_of(Score("confidence", 0.9))
    ()
    """
    if isinstance(score, ConfidenceScore):
        return score.evidence
    return tuple(part.name for part in score.parts if part.source == "measured" and part.name not in OWN_WORD)


def rule_on(decision: ActionDecision, score: Score, action: str, args: Mapping[str, Any], policy: Confidence) -> Ruling:
    """The stricter of what the score reaches and what the policy asks for."""
    asked = list(_asked_for(score, action, args, policy))
    by_action = max((level for level, _, _ in asked), key=LEVELS.index, default=None)
    if policy.gate.evidence == "required" and decision.should_proceed and not evidence_of(score):
        sentence = f"The agent is {percent(score.value)} confident, but only by its own word: "
        asked.append((InterventionLevel.CONFIRM, NO_EVIDENCE, f"{sentence}no search result, tool result or source."))
    strictest = max(asked, key=lambda one: LEVELS.index(one[0]), default=None)
    if strictest is None or LEVELS.index(strictest[0]) < LEVELS.index(decision.level):
        return Ruling(decision, _by_score(decision, score, policy), by_action)
    level, reason, because = strictest
    return Ruling(ActionDecision(level, f"{decision.reason}, but {reason}", ACTIONS[level]), because, by_action)


def level_by(decision: ActionDecision, score: Score, evidence: str, raised_to: str | None) -> InterventionLevel:
    """The gate's level once more, from what is kept of a decision."""
    levels = [decision.level]
    if raised_to is not None:
        levels.append(InterventionLevel(raised_to))
    if evidence == "required" and decision.should_proceed and not evidence_of(score):
        levels.append(InterventionLevel.CONFIRM)
    return max(levels, key=LEVELS.index)


def percent(value: float | None) -> str:
    """A share as people say it.

    >>> percent(0.52), percent(0.699)
    ('52 %', '69.9 %')
    """
    return "not" if value is None else f"{100 * value:.4g} %"


def _by_score(decision: ActionDecision, score: Score, policy: Confidence) -> str:
    if score.value is None:
        return "How confident the agent may be was not measured."
    sure = f"The agent is {percent(score.value)} confident"
    if decision.level is InterventionLevel.ESCALATE:
        return f"{sure}; below {percent(policy.thresholds.confirm)} a person must decide."
    return f"{sure}; below {percent(policy.thresholds.notify)} it must ask."


Asked = tuple[InterventionLevel, str, str]


def _asked_for(score: Score, action: str, args: Mapping[str, Any], policy: Confidence) -> Iterator[Asked]:
    """What the action itself calls for: a level, the reason, and the sentence for a person."""
    words = _words(action)
    for name in policy.gate.always_ask:
        if _folded(name) == _folded(action) or set(_words(name)) <= set(words):
            yield InterventionLevel.CONFIRM, f"'{name}' always asks", f"The policy always asks for {name}."
    # As it is written and as it reads: a rule for `refund` means Refund too, and one for all but `read` means READ.
    readings = [Facts(name, args, score.value) for name in (action, Reading(action))]
    for rule in policy.gate.rules:
        level = InterventionLevel(rule.then)
        try:
            if any(holds(rule.when, facts) for facts in readings):
                yield level, f"a rule says {rule.then}: {rule.when}", f"The policy says {rule.then} where {rule.when}."
        except Exception:  # whatever it is, nobody knows what the rule would have said
            strict = max(level, InterventionLevel.CONFIRM, key=LEVELS.index)
            problem = f"a rule could not be evaluated: {rule.when}"
            yield strict, problem, f"A rule of the policy could not be evaluated: {rule.when}."


def _words(action: str) -> list[str]:
    """The words of an action: an agent may say `refund` in a sentence, and in capitals."""
    return re.findall(r"[\w.-]+", _folded(action))


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in plain if c.isprintable() or c.isspace()).strip()


class Reading(str):
    """An action as people read it: equal to, and holding, whatever differs in case, width or letters without ink.

    >>> Reading("ＲＥ\\u200bFUND now") == "refund now", "refund" in Reading("Refund now")
    (True, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and _folded(self) == _folded(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __contains__(self, part: object) -> bool:
        return isinstance(part, str) and _folded(part) in _folded(self)

    def __hash__(self) -> int:
        return hash(_folded(self))


class Facts(Mapping[str, Any]):
    """What a rule can ask about. A name that the call does not have is an error, so that the rule asks.

    >>> holds("args.order.amount > 500", Facts("refund", {"order": {"amount": 501}}, 0.9))
    True
    """

    def __init__(self, action: str, args: Mapping[str, Any], confidence: float | None) -> None:
        self._known = {"action": action, "args": args, "confidence": confidence}

    def __getitem__(self, name: str) -> Any:
        if name == "action":
            return self._known[name]
        found: Any = self._known
        for key in name.split("."):
            found = found if isinstance(found, Mapping) else plain(found)
            if not isinstance(found, Mapping) or key not in found:
                raise InvariantError(f"the call has no {name}")
            found = found[key]
        found = plain(found)
        if found is None and name == "confidence":
            raise InvariantError("confidence was not measured")
        if isinstance(found, float) and isnan(found):
            raise InvariantError(f"{name} is not a number")
        return found

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002 - there is no default for what is not known
        """The fact itself."""
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def plain(value: Any) -> Any:
    """An argument as plain data: numbers of any kind as Python's own, what cannot become data as it shows itself.

    >>> plain(Decimal("12.50")), plain({"a": (1, 2)})
    (12.5, {'a': (1, 2)})
    """
    try:
        return msgspec.to_builtins(_number(value), builtin_types=(Decimal,), enc_hook=_other)
    except Exception:
        return own_words(value)


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _other(value: Any) -> Any:
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else own_words(value)
