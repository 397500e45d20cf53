"""Skills: reading and writing SKILL.md files."""
