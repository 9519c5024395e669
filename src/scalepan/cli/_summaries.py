"""What each command does, in its own first sentence: for `scalepan --help`, which loads none of them."""

# tests/cli/test_app.py compares them with the commands themselves.
SUMMARIES = {
    "demo": "Shows all four questions and the gate on samples in English and Japanese; explains one number of each.",
    "init": (
        "Write a folder to start from: sample traces, cases, outputs, factors and claims, a policy, an empty store."
    ),
    "value": "How valuable each trace is, from 0 to 1, and why.",
    "eval": "Is the output right? Judge outputs against golden cases, and see what broke.",
    "memory": "What should the agent recall now? Claims, ranked by relevance, usefulness, confidence and age.",
    "confidence": "How sure may the agent be, and must a person step in?",
    "fit": "How good is a number, and from which threshold on does it keep a promise? Labels in, thresholds out.",
    "redact": "Remove secrets and personal data from text.",
    "policy": "Every constant of every formula: show, check, compare, and store for tenants.",
    "store": "Maintain the store's file.",
    "serve": "Serve the HTTP API under /v1, and MCP at /mcp, until SIGTERM or Ctrl-C.",
    "mcp": "Serve an MCP client over standard input and output; logs go to stderr.",
    "explain": "Explain a stored number, and recompute it to see whether it is still the same.",
    "doctor": "What is installed, found and missing, and the command that adds it.",
}
