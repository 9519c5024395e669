"""What a model's files say about its use, and what the policy says over them."""

from pathlib import Path
from typing import Any

import pytest

from scalepan.embed.recipe import read_recipe
from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed
from tests.embed.tiny import DENSE, NORMALIZE, POOLING, TRANSFORMER, tiny_encoder

LEGACY_CLS = {"1_Pooling/config.json": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}}
POOLING_ELSEWHERE = {"modules.json": [TRANSFORMER, {**POOLING, "path": "p"}], "p/config.json": {"pooling_mode": "cls"}}
LENGTH_600 = {"sentence_bert_config.json": {"max_seq_length": 600}}
ROBERTA = {"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}
PROMPTS = {"config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: "}}}


@pytest.mark.parametrize(
    ("files", "field", "value"),
    [
        ({}, "pooling", "mean"),
        (LEGACY_CLS, "pooling", "cls"),
        ({"1_Pooling/config.json": {"pooling_mode": "lasttoken"}}, "pooling", "last"),
        ({"1_Pooling/config.json": {"pooling_mode": ["max"]}}, "pooling", "max"),
        (POOLING_ELSEWHERE, "pooling", "cls"),
        ({}, "normalize", False),
        ({"modules.json": [TRANSFORMER, POOLING, NORMALIZE]}, "normalize", True),
        ({"modules.json": [TRANSFORMER, POOLING, DENSE]}, "further_modules", ("Dense",)),
        ({}, "max_tokens", 512),
        ({"sentence_bert_config.json": {"max_seq_length": 256}}, "max_tokens", 256),
        ({"sentence_roberta_config.json": {"max_seq_length": 128}}, "max_tokens", 128),
        ({"sentence_bert_config.json": {"max_seq_length": None}}, "max_tokens", 512),
        ({"tokenizer_config.json": {"model_max_length": 100}}, "max_tokens", 100),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, "max_tokens", 512),
        ({**LENGTH_600, "config.json": {"max_position_embeddings": 64}}, "max_tokens", 64),
        ({**LENGTH_600, "config.json": {"max_position_embeddings": -1}}, "max_tokens", 600),
        ({**LENGTH_600, "config.json": ROBERTA}, "max_tokens", 512),  # 514 rows, of which 0 and 1 are not used
        ({"config.json": {"pad_token_id": 7}}, "pad_id", 7),
        ({"sentence_bert_config.json": {"do_lower_case": True}}, "lowercase", True),
        ({}, "query_prefix", ""),
        (PROMPTS, "query_prefix", "query: "),
        (PROMPTS, "passage_prefix", "passage: "),
        ({"config_sentence_transformers.json": {"prompts": {"document": "doc: "}}}, "passage_prefix", "doc: "),
    ],
)
def test_the_files_say_how_the_model_is_used(files: dict[str, Any], field: str, value: object, tmp_path: Path) -> None:
    assert getattr(read_recipe(tiny_encoder(tmp_path, files), Embed()), field) == value


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        (Embed(pooling="max"), "pooling", "max"),
        (Embed(pooling="max"), "output", "tokens"),
        (Embed(), "output", "sentence"),
        (Embed(normalize=False), "normalize", False),
        (Embed(max_tokens=16), "max_tokens", 16),
        (Embed(max_tokens=9999), "max_tokens", 64),  # the model has no more positions than that
        (Embed(max_chars=10), "max_chars", 10),
        (Embed(query_prefix=""), "query_prefix", ""),  # an empty prefix is one, too
        (Embed(passage_prefix="p "), "passage_prefix", "p "),
    ],
)
def test_the_policy_wins_over_the_files(settings: Embed, field: str, value: object, tmp_path: Path) -> None:
    files = {
        **LEGACY_CLS,
        **PROMPTS,
        "modules.json": [TRANSFORMER, POOLING, NORMALIZE],
        "config.json": {"max_position_embeddings": 64},
        "sentence_bert_config.json": {"max_seq_length": 32},
    }
    assert getattr(read_recipe(tiny_encoder(tmp_path, files), settings), field) == value


@pytest.mark.parametrize("mode", ["weightedmean", "mean_sqrt_len_tokens", ["cls", "mean"]])
def test_a_pooling_that_scalepan_lacks_is_an_error_and_the_policy_can_name_another(
    mode: object, tmp_path: Path
) -> None:
    tiny_encoder(tmp_path, {"1_Pooling/config.json": {"pooling_mode": mode}})
    with pytest.raises(EncoderError, match="is not one of cls, last, max, mean"):
        read_recipe(tmp_path, Embed())
    assert read_recipe(tmp_path, Embed(pooling="mean")).pooling == "mean"


@pytest.mark.parametrize("name", ["config.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"])
@pytest.mark.parametrize("content", ["{", "7"])
def test_a_damaged_file_is_named(name: str, content: str, tmp_path: Path) -> None:
    tiny_encoder(tmp_path, {name: content})
    with pytest.raises(EncoderError, match=f"{name}: cannot be read"):
        read_recipe(tmp_path, Embed())
