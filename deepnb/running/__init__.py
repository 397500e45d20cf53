"""One agent at work: its threads and turns, its files, and the graph that runs."""
