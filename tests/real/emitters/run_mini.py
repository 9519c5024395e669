"""Inside .venv-logs: mini-swe-agent with its own command line's parts; writes a .traj.json.

run_mini.py <model's url> <folder to work in> <file>
"""

import sys
from pathlib import Path

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel


def main(url: str, work: str, file: str) -> None:
    """One task."""
    model = LitellmModel(
        model_name="openai/gpt-4o",
        model_kwargs={"api_base": f"{url}/v1", "api_key": "stand-in"},
        cost_tracking="ignore_errors",
    )
    agent = DefaultAgent(
        model,
        LocalEnvironment(cwd=work),
        system_template="Count lines.",
        instance_template="{{task}}",
        output_path=Path(file),
    )
    agent.run("How many lines has a.txt?")


if __name__ == "__main__":
    main(*sys.argv[1:])
