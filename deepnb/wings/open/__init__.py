"""Sessions made elsewhere, read: of Claude Code, Codex, OpenCode, pi, OpenClaw, LangGraph and deepnb, and chat messages."""
