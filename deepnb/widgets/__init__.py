"""Live outputs: display ids and ipywidgets fed with view-models; no arithmetic."""
