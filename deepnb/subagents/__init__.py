"""Subagents: as files, and the tool by which an agent hands a task on to one."""
