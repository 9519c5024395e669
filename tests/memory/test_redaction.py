"""Redaction of claims: a field that is not known to be safe is redacted, whoever adds it."""

import msgspec
import pytest

from scalepan.memory.claim import Claim, Provenance
from scalepan.memory.redaction import VERBATIM, redacted_claim, redacted_field
from scalepan.redact import Redactor

MAIL = "ann@" + "example.com"
CLAIM = Claim(
    "clm_1", "t", "p", None, "x", "fact", "project", "internal", "h", 0.0, 0.5, None, "", None, None, Provenance()
)


@pytest.mark.parametrize("name", sorted(set(Claim.__struct_fields__) - VERBATIM - {"provenance", "entities"}))
def test_every_free_text_of_a_claim_is_redacted(name: str) -> None:
    if isinstance(getattr(CLAIM, name), str):
        changed = msgspec.structs.replace(CLAIM, **{name: f"mail {MAIL}"})
        assert getattr(redacted_claim(changed, Redactor()), name) == "mail [pii:email]"
    else:
        assert getattr(redacted_claim(CLAIM, Redactor()), name) == getattr(CLAIM, name)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("speaker", f"Ann, {MAIL}", "Ann, [pii:email]"),  # a field that nobody has thought of yet
        ("speaker", None, None),
        ("utility", 0.5, 0.5),
        ("kind", "fact", "fact"),
    ],
)
def test_a_field_that_is_not_known_to_be_safe_is_redacted(name: str, value: object, stored: object) -> None:
    assert redacted_field(name, value, Redactor()) == stored
