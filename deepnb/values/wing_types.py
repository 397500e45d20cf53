"""The types of what wings give, for type checkers, which read the stub beside this file; at run time it has none."""
