"""Runs of an observability tool (LangSmith, Langfuse): a tree of model calls, tool calls and steps around them."""
