"""Runs real emitters in .venv-logs and returns the files they made; nothing of them is imported here.

Every function takes a `Place`: a home of its own with a folder to work in, so that no setting and no session of the
user is read or written.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.emitters.collector import Collector
from tests.real.emitters.standin import StandIn

HERE = Path(__file__).parent
LOGS = HERE.parents[2] / ".venv-logs"
READY = (LOGS / ".ready").exists()
BIN = LOGS / "bin"
NODE_BIN = LOGS / "node_modules" / ".bin"
# The successors of the openai-v2 instrumentation need a newer library than it bears: they have a folder of their own.
GENAI = LOGS / "genai"


@dataclass(frozen=True)
class Place:
    """A home for one emitter."""

    home: Path

    @property
    def work(self) -> Path:
        """Where it works. There is one file of one line, a.txt."""
        folder = self.home / "work"
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "a.txt").write_text("one\n", encoding="utf-8")
        return folder

    def run(self, *command: object, **env: str) -> str:
        """What the command prints. It sees these variables, its home, and nothing else."""
        words = [str(word) for word in command]
        seen = {"HOME": str(self.home), "PATH": f"{BIN}:/usr/bin:/bin", "LITELLM_LOCAL_MODEL_COST_MAP": "True", **env}
        done = subprocess.run(
            words,
            cwd=self.work,
            env=seen,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, (
            f"{words[:3]} ended with {done.returncode}: {done.stderr[-2000:]}{done.stdout[-1000:]}"
        )
        return done.stdout

    def script(self, name: str, *arguments: object, **env: str) -> str:
        """What a run_*.py of this folder prints."""
        # -P: the modules of this folder must not stand in for packages of the same name.
        return self.run(BIN / "python", "-P", HERE / f"run_{name}.py", *arguments, **env)


@dataclass(frozen=True)
class Made:
    """What a command-line agent left: its session files, oldest first, and what it printed."""

    files: list[Path]
    printed: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The newest session file."""
        return read_lines(self.files[-1].read_text(encoding="utf-8"))

    @property
    def printed_lines(self) -> list[dict[str, Any]]:
        """What was printed, as events."""
        return read_lines(self.printed)


def read_lines(text: str) -> list[dict[str, Any]]:
    """JSON Lines."""
    return [json.loads(line) for line in text.splitlines() if line]


def by_age(files: list[Path]) -> list[Path]:
    """Oldest first, by when they were last written."""
    return sorted(files, key=lambda file: file.stat().st_mtime_ns)


def claude_environment(model: StandIn) -> dict[str, str]:
    """The variables that point Claude Code at the stand-in."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "stand-in",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def claude_sessions(place: Place) -> list[Path]:
    """Claude Code's transcripts. Those of sub-agents are in folders named like the session, beside it."""
    return by_age(list((place.home / ".claude" / "projects").glob("*/*.jsonl")))


def claude_code(model: StandIn, place: Place, prompt: str, *options: str, **env: str) -> Made:
    """`claude -p`: the command that the Agent SDK bundles. Prints stream-json."""
    (command,) = LOGS.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude")
    fixed = ["--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"]
    printed = place.run(command, "-p", prompt, *fixed, *options, **claude_environment(model), **env)
    return Made(claude_sessions(place), printed)


def claude_refused(model: StandIn, place: Place, prompt: str, *, interrupt: bool = False) -> Made:
    """The Agent SDK, where every tool call is refused; interrupted, the session ends with the refusal."""
    rest = ["interrupt"] if interrupt else []
    printed = place.script("claude", place.work, prompt, *rest, **claude_environment(model))
    return Made(claude_sessions(place), printed)


def claude_telemetry(collector: Collector) -> dict[str, str]:
    """Variables with which Claude Code sends its traces, events and metrics as OTLP JSON, contents included."""
    exporters = {f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("TRACES", "LOGS", "METRICS")}
    contents = ("USER_PROMPTS", "TOOL_DETAILS", "TOOL_CONTENT", "ASSISTANT_RESPONSES")
    return exporters | {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        **{f"OTEL_LOG_{content}": "1" for content in contents},
    }


def codex(model: StandIn, place: Place, *arguments: str) -> Made:
    """`codex exec --json`; arguments are the prompt, or `resume`/`fork` with a thread, and options."""
    folder = place.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f"""
        model = "gpt-5.5"
        model_provider = "stand-in"
        [model_providers.stand-in]
        name = "stand-in"
        base_url = "{model.url}/v1"
        wire_api = "responses"
        env_key = "STAND_IN_KEY"
        stream_max_retries = 1
        [analytics]
        enabled = false
        """,
        encoding="utf-8",
    )
    # The folder is nobody's repository, and there is no other sandbox inside a container.
    fixed = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    verb, rest = ([arguments[0]], arguments[1:]) if arguments[0] in ("resume", "fork") else ([], arguments)
    command = [BIN / "node", NODE_BIN / "codex", "exec", *verb, *fixed, *rest]
    printed = place.run(*command, CODEX_HOME=str(folder), STAND_IN_KEY="stand-in")
    return Made(by_age(list((folder / "sessions").rglob("rollout-*"))), printed)


def codex_telemetry(collector: Collector) -> list[str]:
    """Options with which Codex sends its traces and events as OTLP JSON."""
    options = ["-c", "otel.log_user_prompt=true"]
    for name, path in (("exporter", "logs"), ("trace_exporter", "traces")):
        options += ["-c", f'otel.{name}={{otlp-http={{endpoint="{collector.url}/v1/{path}",protocol="json"}}}}']
    return options


def gemini(model: StandIn, place: Place, prompt: str, *options: str) -> Made:
    """`gemini -p`, all tools allowed unless an option says otherwise. Prints stream-json."""
    folder = place.home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    fixed = ["-m", "gemini-2.5-flash", "-o", "stream-json"]
    printed = place.run(
        *[BIN / "node", NODE_BIN / "gemini", *fixed, *(options or ["--yolo"]), "-p", prompt],
        GEMINI_API_KEY="stand-in",
        GOOGLE_GEMINI_BASE_URL=model.url,
        GEMINI_CLI_TRUST_WORKSPACE="true",
    )
    return Made(by_age(list((folder / "tmp").glob("*/chats/session-*"))), printed)


def bodies(model: StandIn, place: Place, api: str, *, stream: bool = False) -> Path:
    """What an SDK sent and got: api is chat, responses or anthropic. A streamed response is the text of its events."""
    file = place.home / f"{api}.jsonl"
    place.script("bodies", api, model.url, file, *(["stream"] if stream else []))
    return file


CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", CONTENT: "SPAN_AND_EVENT"}
OLD = {CONTENT: "true"}


def otel(model: StandIn, place: Place, kind: str, env: dict[str, str]) -> list[Path]:
    """OTLP protobuf bodies of an agent under one of the KINDS of run_otel.py."""
    folder = place.home / "otlp"
    folder.mkdir()
    with Collector() as collector:
        path = {"PYTHONPATH": str(GENAI)} if kind.startswith("genai-") else {}
        place.script("otel", kind, model.url, collector.url, **path, **env)
        return collector.save(folder)


def decode(place: Place, file: Path) -> dict[str, Any]:
    """An OTLP protobuf body in OTLP JSON, by OpenTelemetry's own classes."""
    decoded: dict[str, Any] = json.loads(place.script("decode", file))
    return decoded


def inspect(place: Place) -> Path:
    """The .eval log of two samples."""
    place.script("inspect", place.home / "logs")
    (file,) = (place.home / "logs").glob("*.eval")
    return file


def mini(model: StandIn, place: Place) -> Path:
    """mini-swe-agent's trajectory."""
    file = place.home / "run.traj.json"
    place.script("mini", model.url, place.work, file, MSWEA_SILENT_STARTUP="1", MSWEA_GLOBAL_CONFIG_DIR=str(place.home))
    return file


# For scripts that import Scalepan: it is not installed there.
SCALEPAN = {"PYTHONPATH": str(HERE.parents[2] / "src")}


def recorded(model: StandIn, place: Place, framework: str, way: str) -> tuple[Path, str]:
    """The traces of an agent that an adapter recorded, and what was printed. See run_recording.py."""
    file = place.home / "traces.jsonl"
    return file, place.script("recording", framework, way, model.url, file, **SCALEPAN)


def recorded_case(model: StandIn, place: Place, case: str) -> Path:
    """The traces of one of the CASES of run_recording_cases.py."""
    file = place.home / "traces.jsonl"
    place.script("recording_cases", case, model.url, file, **SCALEPAN)
    return file
