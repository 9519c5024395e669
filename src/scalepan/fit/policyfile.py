"""A fit as a policy file: thresholds as constants, and what they were fitted on as comments."""

import re
from typing import Any

from scalepan.errors import InputError, counted, shorten
from scalepan.fit.assess import Measured
from scalepan.fit.fitted import Fit, GroupPromise
from scalepan.fit.numbers import NUMBERS
from scalepan.policy import Policy, load_policy
from scalepan.policy.load import resolve
from scalepan.policy.trust import Layer

MOST_GROUPS = 200
_PLAIN = re.compile(r"[\w .:/@+-]{1,200}")
"""Names that can stand in a rule's quotes."""


def policy_text(found: Fit, policy: Policy | None = None) -> str:
    """YAML with the thresholds of a fit; InputError if it gives none.

    `policy` is the one that the number was computed under, the policy in force if none is given.
    """
    if not found.given:
        raise InputError("no promise was given, so there is no threshold to write")
    import yaml

    values = policy_values(found, policy or load_policy())
    resolve([Layer("the fitted thresholds", values, "named")])  # a fault shows here, not in the user's next command
    comments = "".join(f"# {line}\n" for line in _told(found))
    return comments + yaml.safe_dump(values, allow_unicode=True, sort_keys=False)


def policy_values(found: Fit, policy: Policy) -> dict[str, Any]:
    """The thresholds as a policy has them and, for a confidence, what they were fitted on."""
    kind = NUMBERS[found.number]
    values: dict[str, Any] = {}
    for line, one in zip(kind.lines, found.promises, strict=True):
        _put(values, line.path, one.threshold)
    own = [one for one in found.groups if one.own][:MOST_GROUPS]
    if kind.group_path and own:
        _put(values, kind.group_path, {one.group: one.promises[0].threshold for one in own})
    if found.number == "confidence":
        values["confidence"]["fitted"] = _fitted_on(found, dict(values["confidence"]["thresholds"]), policy)
        if rules := _rules(found, own):
            _put(values, ("confidence", "gate", "rules"), rules)
    return values


def _fitted_on(found: Fit, thresholds: dict[str, Any], policy: Policy) -> dict[str, Any]:
    return {
        "labels": found.labels,
        "date": found.date,
        "digest": found.digest,
        "max_error": found.promises[0].max_error,
        "sure": found.promises[0].sure,
        "thresholds": thresholds,
        "formula": policy.confidence.formula_hash,
    }


def _rules(found: Fit, own: list[GroupPromise]) -> list[dict[str, str]]:
    """What is stricter for a tool than for all: below its own threshold the gate notifies or asks."""
    rules = []
    for one in own:
        if not _PLAIN.fullmatch(one.group):
            continue
        for place, then in ((0, "notify"), (1, "confirm")):
            threshold, pooled = one.promises[place].threshold, found.promises[place].threshold
            if threshold is not None and pooled is not None and threshold > pooled and "e" not in repr(threshold):
                rules.append({"when": f"action == '{one.group}' && confidence < {threshold!r}", "then": then})
    return rules


def _put(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *outer, last = path
    for key in outer:
        values = values.setdefault(key, {})
    values[last] = value


def _told(found: Fit) -> list[str]:
    assessed = found.assessment
    lines = [
        f"Fitted by 'scalepan fit {found.number}' on {found.date}, on {counted(found.labels, 'label')}.",
        f"Labels: sha256 {found.digest}",
        *(one.text for one in found.promises),
        f"Calibration error {_ends(assessed.calibration_error)}, AUROC {_ends(assessed.auroc)}, "
        f"{assessed.base_rate:.1%} right.",
    ]
    own = [one for one in found.groups if one.own]
    if found.groups:
        lines.append(f"{counted(len(own), 'group')} of {len(found.groups):,} with thresholds of their own:")
    lines += [f"  {shorten(one.group)}: {one.promises[0].text} ({counted(one.labels, 'label')})" for one in own]
    return lines


def _ends(figure: Measured) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "not measured"
    return f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"
