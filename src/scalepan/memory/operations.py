"""Memory's operations, by name. Whoever owns a store loads this when the first call for memory arrives."""

from scalepan.memory import activate, agree, browse, calibrate, change, feedback, forget, ingest, orphans, rescan

__all__ = ["activate", "agree", "browse", "calibrate", "change", "feedback", "forget", "ingest", "orphans", "rescan"]
