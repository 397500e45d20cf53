"""The first notebook's story in a terminal."""
