"""llm-judge: how well does the output meet a rubric, as judged by a language model?"""

from functools import lru_cache
from typing import Annotated

import msgspec

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, ratio
from scalepan.evals.scorers._text import text_of
from scalepan.judge import Judge
from scalepan.policy import Policy, load_policy
from scalepan.score import Score

NAME = "llm-judge"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`rubric`: what a good output is, in words."""

    rubric: Annotated[str, msgspec.Meta(min_length=1)]


class LlmJudgeDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The model and prompt, its reply (redacted), and what it cost."""

    model: str
    prompt: str
    said: str
    notes: tuple[str, ...]
    tokens: int | None
    cached: bool


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The judge's number. It judges the output, or the resulting pages; the original pages are the sources."""
    options: Options = context.options
    judge = context.judge() if context.judge is not None else judge_in_force()
    prompt = judge.prompt(
        "rubric",
        {
            "rubric": options.rubric,
            "answer": text_of(actual.output)
            if actual.output is not None
            else "\n\n".join(context.evidence.texts.values()),
            "expected": text_of(expected.output) if expected.output is not None else "",
            "sources": [page.text for page in context.evidence.pages],
        },
    )
    judgement = judge.ask(prompt)
    details = LlmJudgeDetails(
        model=judgement.model,
        prompt=judgement.prompt,
        said=judgement.raw,
        notes=judgement.notes,
        tokens=judgement.tokens.total if judgement.tokens else None,
        cached=judgement.cached,
    )
    if judgement.value is None:
        return failed(NAME, judgement.reason, details)
    return ratio(NAME, judgement.value, "; ".join(judgement.notes), details)


def judge_in_force() -> Judge:
    """The judge of the policy in force (file and environment), cached until that changes."""
    return _judge(msgspec.json.encode(load_policy(), order="sorted"))


@lru_cache(maxsize=1)
def _judge(policy: bytes) -> Judge:
    return Judge(msgspec.json.decode(policy, type=Policy))
