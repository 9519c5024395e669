"""Judgements in the cache, keyed by a hash of all they depend on: neither the API key nor the question is stored."""

import json

import msgspec

from scalepan.cache import Cache, content_key
from scalepan.check import resolved
from scalepan.judge.judgement import Judgement, TokenUsage
from scalepan.judge.prompt import Prompt
from scalepan.policy.judge import JudgePolicy

FORMAT = "judge 1"
"""Raised when prompts are built or replies are parsed differently."""


class CachedJudgement(msgspec.Struct, frozen=True, gc=False):
    """What is cached of a judgement. `raw` is already redacted."""

    values: dict[str, float]
    raw: str
    notes: tuple[str, ...]
    tokens: TokenUsage | None


resolved(CachedJudgement)


def key_for(prompt: Prompt, messages: list[dict[str, str]], policy: JudgePolicy) -> bytes:
    """The cache key: endpoint, model, prompt version, every word that is sent, and how the reply is parsed."""
    return content_key(
        FORMAT,
        policy.base_url.rstrip("/"),
        policy.model,
        prompt.version,
        json.dumps([messages, prompt.fields, policy.temperature, policy.max_tokens, policy.parse]),
    )


def find(cache: Cache, key: bytes) -> CachedJudgement | None:
    """The cached judgement; None if there is none, or it cannot be read."""
    data = cache.get([key]).get(key)
    try:
        return msgspec.json.decode(data, type=CachedJudgement) if data is not None else None
    except msgspec.MsgspecError:
        return None


def keep(cache: Cache, key: bytes, judgement: Judgement) -> None:
    """Cache a judgement that has a number. A failed one is asked again."""
    kept = CachedJudgement(judgement.values, judgement.raw, judgement.notes, judgement.tokens)
    cache.put({key: msgspec.json.encode(kept)})
