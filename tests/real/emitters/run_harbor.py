"""Inside .venv-logs: convert an agent's log to ATIF with Harbor's own converter; prints the trajectory.

run_harbor.py claude-code|codex|gemini-cli <folder that Harbor would have collected>
run_harbor.py mini-swe-agent <file>
"""

import json
import sys
from pathlib import Path
from typing import Any


def convert(kind: str, logs: Path) -> Any:
    """The trajectory, or None where Harbor finds nothing."""
    if kind == "mini-swe-agent":
        from harbor.agents.installed.mini_swe_agent import convert_mini_swe_agent_to_atif

        return convert_mini_swe_agent_to_atif(json.loads(logs.read_text(encoding="utf-8")), "session")
    if kind == "gemini-cli":
        from harbor.agents.installed.gemini_cli import GeminiCli

        agent = GeminiCli(logs_dir=logs)
        loaded = agent._load_gemini_session(logs / "gemini-cli.trajectory.jsonl")
        return agent._convert_gemini_to_atif(loaded) if loaded else None
    if kind == "claude-code":
        from harbor.agents.installed.claude_code import ClaudeCode

        return ClaudeCode(logs_dir=logs).convert_trajectory(logs)
    from harbor.agents.installed.codex import Codex

    return Codex(logs_dir=logs).convert_trajectory(logs)


if __name__ == "__main__":
    trajectory = convert(sys.argv[1], Path(sys.argv[2]))
    if trajectory is None:
        raise SystemExit("Harbor found no session there")
    print(json.dumps(trajectory.to_json_dict()))
