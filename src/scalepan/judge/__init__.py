"""Text to judged number, by a language model behind any OpenAI-compatible endpoint.

Text is redacted before it leaves the machine, the judged text goes in as data, a reply without a number is a failure
with a reason, and the same question is asked once.
"""

from scalepan.judge.judge import Judge
from scalepan.judge.judgement import Judgement, TokenUsage
from scalepan.judge.probe import probe
from scalepan.judge.prompt import Prompt

__all__ = ["Judge", "Judgement", "Prompt", "TokenUsage", "probe"]
