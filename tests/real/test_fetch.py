"""Fetching a model from a hub: a real server on this machine that speaks the hub's protocol, and the real client."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scalepan.embed import find_encoder
from scalepan.policy.embed import Embed
from tests.embed.tiny import MEAN_OF_A_B, tiny_encoder

COMMIT = "c0ffee" + "0" * 34
FETCH = """
import sys
from scalepan.embed import fetch_model
from scalepan.errors import ScalepanError
try:
    print(fetch_model(sys.argv[1]))
except ScalepanError as error:
    sys.exit(str(error))
"""


class Hub(ThreadingHTTPServer):
    """Models by name, each a folder; remembers what it was asked for."""

    def __init__(self, models: dict[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.models = models
        self.asked: list[str] = []
        self.broken_file = ""
        """The connection ends in the middle of this one."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(BaseHTTPRequestHandler):
    """What huggingface_hub asks for: what a model consists of, and its files at one commit."""

    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        for name, folder in self.server.models.items():
            if self.path == f"/api/models/{name}":
                files = sorted(path for path in folder.rglob("*") if path.is_file())
                siblings = [{"rfilename": file.relative_to(folder).as_posix()} for file in files]
                return self.reply(json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode())
            if self.path.startswith(f"/{name}/resolve/{COMMIT}/"):
                file = folder / self.path.partition(f"/{COMMIT}/")[2]
                return self.reply(file.read_bytes(), cut=file.name == self.server.broken_file)
        return self.reply(b"", status=404, error="RepoNotFound")

    def reply(self, body: bytes, status: int = 200, error: str = "", cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{sha256(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if error:
            self.send_header("X-Error-Code", error)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = cut

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Tests are quiet."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    model = tiny_encoder(
        tmp_path / "on the hub",
        {
            "config.json": {"pad_token_id": 0},
            "1_Pooling/config.json": {"pooling_mode": "mean"},
            "README.md": "not needed",
            "onnx/model_int8.onnx": "not needed",
        },
        graph_file="onnx/model.onnx",
    )
    (tmp_path / "no graph").mkdir()
    (tmp_path / "no graph" / "tokenizer.json").write_text("{}")
    hub = Hub({"org/tiny": model, "org/torch-only": tmp_path / "no graph"})
    thread = threading.Thread(target=hub.serve_forever)
    thread.start()
    yield hub
    hub.shutdown()
    thread.join()
    hub.server_close()


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: Hub) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def fetch(name: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the client reads HF_ENDPOINT once, when it is imported."""
    return subprocess.run([sys.executable, "-c", FETCH, name], capture_output=True, text=True, timeout=120)


def models(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache" / "models"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_fetched_model_works_by_its_name(tmp_path: Path) -> None:
    result = fetch("org/tiny")
    assert (result.returncode, result.stderr) == (0, "")
    folder = Path(result.stdout.strip())
    assert folder == tmp_path / "cache" / "models" / "org--tiny"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "1_Pooling/config.json",
        "config.json",
        "onnx/model.onnx",
        "tokenizer.json",
    ]
    encoder = find_encoder(Embed(model="org/tiny"))
    assert encoder is not None
    assert encoder.encode(["a b"])[0] == pytest.approx(MEAN_OF_A_B)


def test_nothing_is_asked_but_the_model_and_nothing_twice(hub: Hub) -> None:
    fetch("org/tiny")
    assert hub.asked[0] == "GET /api/models/org/tiny"
    files = ("1_Pooling/config.json", "config.json", "onnx/model.onnx", "tokenizer.json")
    wanted = [f"{verb} /org/tiny/resolve/{COMMIT}/{file}" for file in files for verb in ("HEAD", "GET")]
    assert hub.asked[1:] == wanted
    fetch("org/tiny")
    assert hub.asked[1:] == wanted


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("org/nothing", "the hub has no model of this name, or you have no access to it"),
        ("org/torch-only", "it has neither model.onnx nor onnx/model.onnx"),
        ("not a name", "this is not a hub name; those look like org/model"),
    ],
)
def test_a_model_that_cannot_be_had_is_one_line(name: str, reason: str, tmp_path: Path) -> None:
    result = fetch(name)
    assert result.stderr == f"'{name}' was not fetched: {reason}\n"
    assert models(tmp_path) == []


def test_no_network_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    result = fetch("org/tiny")
    assert result.stderr.startswith("'org/tiny' was not fetched: the hub cannot be reached: ")
    assert result.stderr.count("\n") == 1
    assert models(tmp_path) == []


def test_a_model_that_breaks_off_leaves_nothing(hub: Hub, tmp_path: Path) -> None:
    hub.broken_file = "model.onnx"
    result = fetch("org/tiny")
    assert result.stderr.startswith("'org/tiny' was not fetched: peer closed connection")
    assert result.stderr.count("\n") == 1
    assert models(tmp_path) == []


def test_a_fetched_model_that_lost_a_file_is_fetched_again(tmp_path: Path) -> None:
    folder = Path(fetch("org/tiny").stdout.strip())
    (folder / "onnx" / "model.onnx").unlink()
    assert fetch("org/tiny").returncode == 0
    assert (folder / "onnx" / "model.onnx").is_file()
    assert models(tmp_path) == ["org--tiny"]
