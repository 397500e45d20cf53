"""Chat models: the teaching model, and names resolved to any LangChain model."""
