"""deepnb: see a deep agent's memory, skills and context in the notebook where you work."""
