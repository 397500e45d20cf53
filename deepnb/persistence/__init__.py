"""A session in a database: LangGraph's checkpoints and store, and beside them what only deepnb knows."""
