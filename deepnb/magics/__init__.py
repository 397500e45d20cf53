"""%agent, %memory, %skills: parse, call, show."""
