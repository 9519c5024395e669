"""Codex: rollout files, and what `codex exec --json` prints."""
