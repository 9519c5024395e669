"""Claude Code: sessions on disk, and what `claude -p --output-format stream-json` prints."""
