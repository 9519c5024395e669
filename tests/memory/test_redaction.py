"""Redaction of claims: a field that is not known to be safe is redacted, whoever adds it."""

from pathlib import Path

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.memory import Memory
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


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULES = {"redact": {"rules": [{"name": "ticket", "pattern": "TCK-[0-9]{6}"}]}}


@pytest.mark.parametrize("kind", [TOKEN, "TCK-123456"])
def test_a_kind_that_looks_like_a_secret_is_refused(kind: str, tmp_path: Path) -> None:
    """Kinds are stored and shown as they are, so one that a rule finds must not get in, by adding or by changing."""
    with Memory(tmp_path / "notes.duckdb", policy=RULES) as memory:
        with pytest.raises(InputError, match="kind: looks like a secret"):
            memory.add("Plans renew on the 1st", kind=kind)
        claim = memory.add("Plans renew on the 1st", kind="fact")
        with pytest.raises(InputError, match="kind: looks like a secret"):
            memory.update(claim, kind=kind)
        assert memory.store.sql("SELECT kind FROM claims") == [["fact"]]
