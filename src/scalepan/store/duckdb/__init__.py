"""The default engine: one DuckDB file that many processes share."""
