"""Memory: which files are injected, when they are read again, and the words around them."""
