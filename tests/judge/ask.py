"""A question, and a model that answers it well."""

from typing import Any

from scalepan.judge import Prompt
from tests.modelserver import (
    says,
)

WELL = says('{"score": 0.8}')


def about(answer: str = "an answer", **more: Any) -> Prompt:
    return Prompt(text="Is it good? {answer}", values={"answer": answer}, version="t 1", **more)
