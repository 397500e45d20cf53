"""Ways in: JupyterLab on the first notebook, and the same story in a terminal."""
