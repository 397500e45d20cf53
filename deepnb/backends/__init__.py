"""Where files live: the state held in the kernel."""
