"""One agent at work: its threads and turns, its files, the graph that runs, and what is so just now."""
