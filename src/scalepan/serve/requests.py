"""What can be asked at a door that is not an operation of the store: one struct a tool, with a word on each field.

The other tools take their operation's own request; see `scalepan.serve.tools`.
"""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from scalepan.confidence.factors import ConfidenceFactors
from scalepan.doors import request_of_tool
from scalepan.names import Id, Label

ArgumentName = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")]


class _ToolRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing is passed over in silence: a key that is not known is an error that names the nearest."""


class TraceValue(_ToolRequest, frozen=True, kw_only=True):
    """A trace to value."""

    trace: Annotated[
        dict[str, Any],
        Meta(
            description="A ReasoningTrace; a fault is reported with its path.",
            extra_json_schema={"required": ["@context", "@type", "id", "metadata", "task", "steps", "outcome"]},
        ),
    ]
    remember: Annotated[bool, Meta(description="Compare later traces of this session with it.")] = True
    breakdown: bool = False


class OutputScore(_ToolRequest, frozen=True, kw_only=True):
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


def _says_something(factors: msgspec.Struct) -> None:
    # The formula takes silence for the default, which may be enough to go on: at a door that is no evidence.
    if msgspec.structs.astuple(factors) == factors.__struct_defaults__:
        raise ValueError(
            "says nothing; give at least one factor that is known, such as source_count or llm_self_confidence"
        )


if TYPE_CHECKING:
    Factors = ConfidenceFactors
else:
    # Without the rules of ConfidenceFactors itself, which cost more than reading a request: scoring applies them.
    Factors = request_of_tool("confidence.factors", ConfidenceFactors, check=_says_something)

NOT_EMPTY = Meta(extra_json_schema={"minProperties": 1})


class ConfidenceRequest(_ToolRequest, frozen=True, kw_only=True):
    """What the confidence rests on."""

    factors: Annotated[Factors, NOT_EMPTY]
    breakdown: bool = False


class Decide(_ToolRequest, frozen=True, kw_only=True):
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


class AnswerRequest(_ToolRequest, frozen=True, kw_only=True):
    """What a person says to a question that waits."""

    approve: bool
    why: Annotated[str, Meta(max_length=2000, description="Kept with the decision.")] | None = None
    actor: Annotated[Label, Meta(description="The person who decides; stored with the token.")] | None = None


class ExplainRequest(_ToolRequest, frozen=True, kw_only=True):
    """A number that was kept, by its id."""

    id: Annotated[
        Id,
        Meta(
            description="Of a number (scr_…), a decision (dec_…), an active context (ac_…), a claim (clm_…) or a vote "
            "(fb_…)."
        ),
    ]
    breakdown: Annotated[bool, Meta(description="Also return how each number came about.")] = False
