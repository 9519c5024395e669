"""Judgements in the cache: kept by what they depend on, without the key and without what was asked."""

import json

import msgspec

from scalepan.cache import Cache, content_key
from scalepan.check import resolved
from scalepan.judge.judgement import Judgement, Tokens
from scalepan.judge.prompt import Prompt
from scalepan.policy.judge import Judge

FORMAT = "judge 1"
"""Goes up when prompts are put together or answers are read in another way."""


class Kept(msgspec.Struct, frozen=True, gc=False):
    """What of a judgement is kept. `raw` is redacted already."""

    values: dict[str, float]
    raw: str
    notes: tuple[str, ...]
    tokens: Tokens | None


resolved(Kept)


def key_for(prompt: Prompt, messages: list[dict[str, str]], policy: Judge) -> bytes:
    """Where a judgement is kept: endpoint, model, prompt version, every word that is sent, and how it is read."""
    return content_key(
        FORMAT,
        policy.base_url.rstrip("/"),
        policy.model,
        prompt.version,
        json.dumps([messages, prompt.fields, policy.temperature, policy.max_tokens, policy.parse]),
    )


def find(cache: Cache, key: bytes) -> Kept | None:
    """What is kept; None where nothing is, or nothing that can be read."""
    data = cache.get([key]).get(key)
    try:
        return msgspec.json.decode(data, type=Kept) if data is not None else None
    except msgspec.MsgspecError:
        return None


def keep(cache: Cache, key: bytes, judgement: Judgement) -> None:
    """Keep a judgement that has a number. One that failed is asked for again."""
    kept = Kept(judgement.values, judgement.raw, judgement.notes, judgement.tokens)
    cache.put({key: msgspec.json.encode(kept)})
