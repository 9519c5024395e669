"""Inside .venv-logs: an Inspect evaluation with a mock model, real tools and a scorer; writes a .eval log.

run_inspect.py <folder for the log>
"""

import sys

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import Tool, ToolCall, ToolError, tool


def make_counter() -> Tool:
    """The tool that the model may call. It knows one file."""

    async def execute(path: str) -> str:
        """Count the lines of a file.

        Args:
            path: The file.
        """
        if path != "a.txt":
            raise ToolError(f"no such file: {path}")
        return "1"

    return execute


def calling(number: int, text: str, *paths: str) -> ModelOutput:
    """An answer that calls the tool once for each path."""
    calls = [
        ToolCall(id=f"call_{number:02}_{index}", function="count_lines", arguments={"path": path})
        for index, path in enumerate(paths)
    ]
    content = [ContentReasoning(reasoning="Look first."), ContentText(text=text)]
    output = ModelOutput.from_message(ChatMessageAssistant(content=content, tool_calls=calls), stop_reason="tool_calls")
    return counted(number, output)


def counted(number: int, output: ModelOutput) -> ModelOutput:
    """The answer with tokens: 101 in for the first, 7 out."""
    output.usage = ModelUsage(input_tokens=100 + number, output_tokens=7, total_tokens=107 + number)
    return output


def main(folder: str) -> None:
    """One right sample, and one that the model gets wrong."""
    outputs = [
        calling(1, "I look.", "missing.txt"),
        calling(2, "", "a.txt", "b.txt"),
        counted(3, ModelOutput.from_content("mockllm/model", "1")),
        counted(4, ModelOutput.from_content("mockllm/model", "5")),
    ]
    task = Task(
        name="count",
        dataset=[
            Sample("How many lines has a.txt?", target="1", id="right"),
            Sample("And b.txt?", target="2", id="wrong"),
        ],
        solver=[system_message("Count lines."), use_tools(tool(name="count_lines")(make_counter)()), generate()],
        scorer=match(),
    )
    (log,) = evaluate(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=folder, display="none", max_samples=1
    )
    if log.status != "success":
        raise SystemExit(f"the evaluation ended with {log.status}: {log.error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
