"""Recordings of agents that run in somebody else's loop: one file per framework, none of them a dependency."""
