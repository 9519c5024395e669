"""What each command does, in its own first sentence: for `scalepan --help`, which loads none of them."""

# tests/cli/test_app.py compares them with the commands themselves.
SUMMARIES = {
    "demo": "Shows all four questions and the gate on samples in English and Japanese; explains one number of each.",
    "init": (
        "Write a folder to start from: sample traces, cases, outputs, factors and claims, a policy, an empty store."
    ),
    "value": "What each trace is worth keeping for, from 0 to 1, and why.",
    "eval": "Is the output right? Judge outputs against golden cases, and see what broke.",
    "memory": "What should it recall now? Claims, found by words and meaning, weighed by use, certainty and age.",
    "confidence": "How sure may the agent be, and must a person step in?",
    "redact": "Take secrets and personal data out of text.",
    "policy": "Every constant of every formula: show, check, compare, and keep for tenants.",
    "store": "Look after the store's file.",
    "serve": "Serve the HTTP API under /v1, and MCP at /mcp, until SIGTERM or Ctrl-C.",
    "mcp": "Serve an MCP client over standard input and output; logs go to stderr.",
    "explain": "How a number that was kept came about, and whether it still comes out the same.",
    "doctor": "What is installed, found and missing, and the one command that adds it.",
}
