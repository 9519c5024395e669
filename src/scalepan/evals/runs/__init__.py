"""Runs as files: what was judged, by which scorers, with which results; resumed, rescored and blessed."""
