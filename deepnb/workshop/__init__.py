"""The kernel as the agent's workshop: tools over the user's variables."""
