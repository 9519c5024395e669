"""What can be asked: one struct a tool. Their fields are the input schemas, with a word on each for the model.

Signals and factors stand here once more, because the packages that have them load arrays and a database, and a
door must open before that. `tests/serve/test_requests.py` holds them equal.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from scalepan.check import in_order
from scalepan.names import Id, Label
from scalepan.policy.boundary import BoundaryClass, Scope
from scalepan.policy.retrieval import Kind

Signal = Literal["helpful", "harmful", "outdated", "duplicate"]
EntityType = Literal["Actor", "Artifact", "Event", "Concept"]

ArgumentName = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]


class _Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing is passed over in silence: a key that is not known is an error that names the nearest."""


class Recall(_Request, frozen=True, kw_only=True):
    """What to recall."""

    query: Annotated[str, Meta(min_length=1, max_length=1_000_000, description="What it is about, in plain words.")]
    k: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How many claims at most; by default the policy's k_final."""
    scopes: list[Scope] | None = None
    kinds: list[Kind] | None = None
    max_tokens: Annotated[int, Meta(ge=1, description="Stop before the texts have more tokens than this.")] | None = (
        None
    )
    alpha: Annotated[float, Meta(ge=0, le=1, description="0: words only; 1: meaning only.")] | None = None
    breakdown: Annotated[bool, Meta(description="Also return how each score came about.")] = False


class Entity(_Request, frozen=True, kw_only=True):
    """What a claim is about."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    type: Annotated[EntityType, in_order(EntityType)] = "Concept"


class Add(_Request, frozen=True, kw_only=True):
    """Something to remember."""

    text: Annotated[Text, Meta(description="One statement that makes sense on its own.")]
    kind: Annotated[Kind, Meta(description="fact, preference, task, policy_hint, or a word of your own.")] = "fact"
    scope: Annotated[Scope, in_order(Scope), Meta(description="session needs a server that was given --session.")] = (
        "project"
    )
    boundary_class: Annotated[BoundaryClass, in_order(BoundaryClass)] = "internal"
    entities: list[Entity] = []
    confidence: Annotated[float, Meta(ge=0, le=1, description="How certain it is.")] = 0.5
    source: Annotated[str, Meta(description="A URL or a file.")] | None = None
    note: str | None = None


class Vote(_Request, frozen=True, kw_only=True):
    """What a claim was worth."""

    claim: Id
    signal: Annotated[Signal, in_order(Signal)]
    of: Annotated[Id, Meta(description="Only with duplicate: the claim that it repeats.")] | None = None
    context: Annotated[Id, Meta(description="The active_context_id that it was recalled in.")] | None = None
    note: str | None = None


class Forget(_Request, frozen=True, kw_only=True):
    """Claims to forget."""

    claims: Annotated[list[Id], Meta(min_length=1, max_length=1000)]


class TraceValue(_Request, frozen=True, kw_only=True):
    """A trace to value."""

    trace: Annotated[
        dict[str, Any],
        Meta(
            description="A ReasoningTrace; a fault is told with its path.",
            extra_json_schema={"required": ["@context", "@type", "id", "metadata", "task", "steps", "outcome"]},
        ),
    ]
    remember: Annotated[bool, Meta(description="Compare later traces of this session with it.")] = True
    breakdown: bool = False


class OutputScore(_Request, frozen=True, kw_only=True):
    """An output to judge."""

    case: Annotated[
        dict[str, Any],
        Meta(
            description="A golden case: id, expected {operations, output}, pages, scorers [{type, weight, threshold}].",
            extra_json_schema={"required": ["id", "expected"]},
        ),
    ]
    output: Annotated[dict[str, Any], Meta(description="What came of it: operations, or output for free text.")]
    preset: Annotated[str, Meta(description="A list of scorers by its name in the policy.")] | None = None
    breakdown: bool = False


Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class Factors(_Request, frozen=True, kw_only=True):
    """What was searched, found, called and said."""

    search_result_count: Count = 0
    search_avg_score: Share = 0.0
    search_max_score: Share = 0.0
    search_score_variance: Annotated[float, Meta(ge=0)] = 1.0
    source_agreement: Annotated[float, Meta(ge=0, le=1, description="How far the sources say the same.")] = 0.0
    source_count: Count = 0
    llm_self_confidence: Annotated[float, Meta(ge=0, le=1, description="How sure you are yourself.")] = 0.5
    tool_success_rate: Share = 1.0
    tool_execution_count: Count = 0
    tool_success_count: Count = 0
    query_coverage: Annotated[float, Meta(ge=0, le=1, description="How much of what was asked is answered.")] = 0.0
    is_search_step: bool = False

    def __post_init__(self) -> None:
        # The formula takes silence for the default, which may be enough to go on: at a door that is no evidence.
        if msgspec.structs.astuple(self) == self.__struct_defaults__:
            raise ValueError(
                "says nothing; give at least one factor that is known, such as source_count or llm_self_confidence"
            )


NOT_EMPTY = Meta(extra_json_schema={"minProperties": 1})


class Confidence(_Request, frozen=True, kw_only=True):
    """What the confidence rests on."""

    factors: Annotated[Factors, NOT_EMPTY]
    breakdown: bool = False


class Decide(_Request, frozen=True, kw_only=True):
    """An action to decide about, or a decision to look at."""

    action: Annotated[str, Meta(min_length=1, max_length=2000, description="What you want to do.")] | None = None
    args: Annotated[
        dict[ArgumentName, Any],
        Meta(max_length=20, description="The arguments of the action by name; rules and the person see them."),
    ] = {}
    factors: Annotated[Factors | None, NOT_EMPTY] = None
    decision: Annotated[Id, Meta(description="Instead of both: an earlier decision_id, to see the answer.")] | None = (
        None
    )


class Answer(_Request, frozen=True, kw_only=True):
    """What a person says to a question that waits."""

    approve: bool
    why: Annotated[str, Meta(max_length=2000, description="Kept with the decision.")] | None = None
    actor: Annotated[Label, Meta(description="The person who decides; kept beside the token.")] | None = None


class Explain(_Request, frozen=True, kw_only=True):
    """A number that was kept, by its id."""

    id: Annotated[
        Id,
        Meta(
            description="Of a number (scr_…), a decision (dec_…), an active context (ac_…), a claim (clm_…) or a vote "
            "(fb_…)."
        ),
    ]
    breakdown: Annotated[bool, Meta(description="Also return how each number came about.")] = False
