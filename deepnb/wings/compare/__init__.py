"""A prompt with several options side by side, and prompts in the background."""
