"""Makes .venv-pydantic-evals and .venv-deepeval from their locks: what Scalepan's evaluator is measured against.

python -m bench.evals_peers
"""

import subprocess
import sys
from pathlib import Path

from bench.peers import ROOT

PEERS = ("pydantic-evals", "deepeval")


def make(name: str) -> Path:
    """The Python of a peer's environment, which is made first if need be, and again if its lock has changed."""
    folder = ROOT / f".venv-{name}"
    lock, ready, python = ROOT / "locks" / f"{name}.txt", folder / ".ready", folder / "bin" / "python"
    if not ready.exists() or ready.stat().st_mtime < lock.stat().st_mtime:
        print(f"making {folder.name} (a minute, once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "-r", str(lock)], check=True)
        ready.touch()
    return python


if __name__ == "__main__":
    for peer in PEERS:
        print(make(peer).relative_to(ROOT))
