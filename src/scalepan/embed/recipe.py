"""How does this model expect its text, and how do its outputs become one vector? Its files say, or the policy."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed, Pooling

DEFAULT_MAX_TOKENS = 512
UNLIMITED = 10**6  # a tokenizer without a limit says 10**30
# The position tables of this family begin with rows that no token uses.
OFFSET_POSITIONS = {"camembert", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl"}
POOLINGS: dict[str, Pooling] = {"cls": "cls", "lasttoken": "last", "max": "max", "mean": "mean"}
OLD_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
PASSAGE_PROMPTS = ("document", "passage", "corpus")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Everything besides graph and tokenizer that affects a vector."""

    pooling: Pooling
    normalize: bool
    output: Literal["sentence", "tokens"]
    """Which output is used if the graph has both: its own sentence vector, unless the policy names a pooling."""
    further_modules: tuple[str, ...]
    """Steps after pooling that Scalepan does not support; a graph may do them itself."""
    max_tokens: int
    max_chars: int
    lowercase: bool
    pad_id: int
    query_prefix: str
    passage_prefix: str

    def prefix(self, kind: str) -> str:
        """The prefix of a text of this kind."""
        return self.query_prefix if kind == "query" else self.passage_prefix


def read_recipe(folder: Path, settings: Embed) -> Recipe:
    """The recipe of an encoder's folder. A missing file is ignored; a damaged one is an error."""
    config = _read(folder / "config.json")
    modules = {module["type"].rpartition(".")[2]: module["path"] for module in _read_list(folder / "modules.json")}
    sentence = _sentence_config(folder)
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    return Recipe(
        pooling=settings.pooling or _pooling(folder / modules.get("Pooling", "1_Pooling") / "config.json"),
        normalize="Normalize" in modules if settings.normalize is None else settings.normalize,
        output="tokens" if settings.pooling else "sentence",
        further_modules=tuple(sorted(modules.keys() - {"Transformer", "Pooling", "Normalize"})),
        max_tokens=_max_tokens(folder, config, settings.max_tokens or sentence.get("max_seq_length")),
        max_chars=settings.max_chars,
        lowercase=bool(sentence.get("do_lower_case")),
        pad_id=config.get("pad_token_id") or 0,
        query_prefix=_first(settings.query_prefix, prompts.get("query"), ""),
        passage_prefix=_first(settings.passage_prefix, *map(prompts.get, PASSAGE_PROMPTS), ""),
    )


def _pooling(path: Path) -> Pooling:
    config = _read(path)
    modes = config.get("pooling_mode") or [mode for key, mode in OLD_POOLING_KEYS.items() if config.get(key)] or "mean"
    mode = modes if isinstance(modes, str) else "+".join(modes)
    if mode not in POOLINGS:
        legal = ", ".join(POOLINGS.values())
        raise EncoderError(f"{path}: pooling '{mode}' is not one of {legal}; embed.pooling in the policy can name one")
    return POOLINGS[mode]


def _max_tokens(folder: Path, config: dict[str, Any], wanted: int | None) -> int:
    if not wanted:
        wanted = int(_read(folder / "tokenizer_config.json").get("model_max_length") or UNLIMITED)
        wanted = wanted if wanted < UNLIMITED else DEFAULT_MAX_TOKENS
    positions: int | None = config.get("max_position_embeddings")
    # -1 is how some files say that there is no limit.
    if not positions or positions < 0:
        return wanted
    if config.get("model_type") in OFFSET_POSITIONS:
        positions -= (config.get("pad_token_id") or 0) + 1
    return min(wanted, positions)


def _sentence_config(folder: Path) -> dict[str, Any]:
    """`sentence_bert_config.json`; other families have their name in place of bert."""
    return next((_read(path) for path in sorted(folder.glob("sentence_*_config.json"))), {})


def _first(*choices: str | None) -> str:
    return next(choice for choice in choices if choice is not None)


def _read(path: Path) -> dict[str, Any]:
    return _decode(path, dict[str, Any]) if path.is_file() else {}


def _read_list(path: Path) -> list[dict[str, str]]:
    return _decode(path, list[dict[str, Any]]) if path.is_file() else []


def _decode(path: Path, type_: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=type_)
    except (msgspec.MsgspecError, OSError) as error:
        raise EncoderError(f"{path}: cannot be read: {error}") from None
