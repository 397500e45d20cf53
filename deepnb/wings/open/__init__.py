"""Sessions made elsewhere, read: Claude Code, Codex, pi and OpenClaw, LangGraph's checkpoints, deepnb's own, chat messages."""
