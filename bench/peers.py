"""Makes .venv-torch, where sentence-transformers runs on torch: what Scalepan's encoder is measured against.

python -m bench.peers
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCH = ROOT / ".venv-torch"
TORCH_PYTHON = TORCH / "bin" / "python"
LOCKS = ("torch.txt", "minilm.txt")
READY = TORCH / ".ready"


def make_torch() -> Path:
    """The Python of the environment, which is made first if need be."""
    if not READY.exists():
        if sys.version_info[:2] != (3, 11):
            sys.exit("locks/torch.txt is for Python 3.11; run this with that one")
        print("making .venv-torch (some minutes, once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", TORCH], check=True)
        for lock in LOCKS:
            pip = [str(TORCH_PYTHON), "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
            subprocess.run([*pip, "-r", str(ROOT / "locks" / lock)], check=True)
        READY.touch()
    return TORCH_PYTHON


if __name__ == "__main__":
    print(make_torch())
