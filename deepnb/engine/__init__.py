"""The only room that knows upstream's private names and state keys."""
