"""The scorers, one a file: each a pure function of (actual, expected, context) that gives a Score."""
