"""Options -> graph: what an agent is made of, and the one place where it is wired. No session, no state."""
