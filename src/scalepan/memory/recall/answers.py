"""What a recall gives back: claims with their score and its reasons, and what the recall itself was like."""

from collections.abc import Iterator
from typing import Any, overload

import msgspec

from scalepan.errors import shorten
from scalepan.memory.claim import Claim
from scalepan.score import Score

SHOWN = 3
"""How many claims stand in the one line of a recall."""


class Gain(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of g, each from 0 to 1, as contract memory.51 names them."""

    util: float
    conf: float
    rec: float
    qual: float | None = None


class Features(msgspec.Struct, frozen=True):
    """What was measured of a claim. None: that side did not find it, or did not run."""

    s_text: float | None
    s_vec: float | None
    S: float
    g: Gain
    text_rank: int | None = None
    vector_rank: int | None = None
    bm25: float | None = None
    """Raw; None where the text level does not weigh (L0)."""
    cos: float | None = None
    score_div: float | None = None
    """What MMR chose it by; None where the score alone did."""


class Recalled(msgspec.Struct, frozen=True):
    """A claim that was recalled."""

    claim: Claim
    rank: int
    score_final: Score
    features: Features
    reason: str
    below_threshold: bool = False
    p_useful: float | None = None
    """How likely it is that this claim helps; None in profile `spec`, whose scores are no probabilities."""

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id

    @property
    def text(self) -> str:
        """The claim's text."""
        return self.claim.text

    @property
    def strength(self) -> float:
        """How much it is worth as evidence, 0 to 1: how likely it is to help, and where nobody knows, its score."""
        return float(self.score_final) if self.p_useful is None else self.p_useful

    def __str__(self) -> str:
        return f"{self.score_final:.3f} {self.id}: {shorten(self.text, 80)} ({self.reason})"

    def _repr_html_(self) -> str:
        """The text and the waterfall of its score, for notebooks."""
        from scalepan.draw.notebook import sentence_html

        return sentence_html(f"{self.id}: {self.text}", self.score_final)

    def to_dict(self, *, features: bool = True) -> dict[str, Any]:
        """As contract memory.50 spells it: score_final a number; features and reason unless they are not wanted."""
        claim = self.claim
        data: dict[str, Any] = {
            "id": claim.id,
            "text": claim.text,
            "kind": claim.kind,
            "scope": claim.scope,
            "boundary_class": claim.boundary_class,
            "created_at": claim.created_at,
            "updated_at": claim.updated_at,
            "provenance": msgspec.to_builtins(claim.provenance),
            "entities": msgspec.to_builtins(claim.entities),
            **claim.place(),
            **claim.validity(),
            "rank": self.rank,
            "score_final": self.score_final.value,
            "below_threshold": self.below_threshold,
            "p_useful": self.p_useful,
        }
        if features:
            data["features"] = msgspec.to_builtins(self.features)
            data["reason"] = self.reason
        return data


class Rejected(msgspec.Struct, frozen=True):
    """A candidate that was not taken, and why."""

    id: str
    score_final: float
    reason: str


class Recall(msgspec.Struct, frozen=True):
    """What came of a search or an activation."""

    claims: list[Recalled]
    policy_version: str
    request_id: str
    trace_id: str
    alpha: float
    why_alpha: str
    k_txt: int
    k_vec: int
    k_final: int
    text_level: str
    """`index`, `L2`, `L0`, or empty: words were not searched."""
    vector_level: str
    candidates: int
    rejected: list[Rejected] = []
    """Best first; of an activation those below the threshold among them."""
    notes: list[str] = []
    """What is missing, and what was done without it."""
    took_ms: float = 0.0
    active_context_id: str | None = None
    expires_at: str | None = None
    why: str | None = None
    """Asked for by `why`: what became of one claim."""
    population: tuple[float, float] = (0.0, 0.0)
    """Mean and deviation of utility over everything that could be recalled; kept with each score."""
    profile: str = "spec"
    """How claims were scored."""
    p_useful: float | None = None
    """How likely it is that any claim helps; None in profile `spec`."""

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    @overload
    def __getitem__(self, place: int) -> Recalled: ...
    @overload
    def __getitem__(self, place: slice) -> list[Recalled]: ...
    def __getitem__(self, place: int | slice) -> Recalled | list[Recalled]:
        return self.claims[place]

    def __str__(self) -> str:
        """One line: how many, and the best of them."""
        best = ", ".join(f"{one.score_final:.3f} “{shorten(one.text, 40)}”" for one in self.claims[:SHOWN])
        more = ", …" if len(self.claims) > SHOWN else ""
        return f"{self._count()}{': ' if best else ''}{best}{more}"

    def _repr_html_(self) -> str:
        """A table of the claims, for notebooks."""
        from scalepan.draw.notebook import table_html

        rows = [
            (str(one.rank), f"{one.score_final:.3f}", one.text, one.id, one.reason + _flag(one)) for one in self.claims
        ]
        caption = "; ".join([self._count(), *self.notes])
        return table_html(caption, ("rank", "score", "text", "id", "why"), rows)

    def _count(self) -> str:
        count = len(self.claims)
        return f"{count} claim{'' if count == 1 else 's'} of {self.candidates} found"

    def to_dict(self, *, features: bool = True) -> dict[str, Any]:
        """Plain data with the contract's keys, ready for JSON."""
        data: dict[str, Any] = {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("claims", "rejected", "active_context_id", "expires_at", "why", "population")
        }
        data["claims"] = [claim.to_dict(features=features) for claim in self.claims]
        data["rejected"] = msgspec.to_builtins(self.rejected)
        for name in ("active_context_id", "expires_at", "why"):
            if getattr(self, name) is not None:
                data[name] = getattr(self, name)
        return data


def _flag(one: Recalled) -> str:
    # A rejected one says so in its reason already.
    return "; below_threshold" if one.below_threshold and "below_threshold" not in one.reason else ""
