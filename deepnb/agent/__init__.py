"""The agent: options, the one place where the graph is wired, and the session that runs it."""
