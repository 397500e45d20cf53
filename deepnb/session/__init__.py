"""The face: what a user calls. Each part takes the workspace, and none of them the session."""
