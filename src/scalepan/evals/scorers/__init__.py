"""The scorers, one per file: each a pure function of (actual, expected, context) that returns a Score."""
