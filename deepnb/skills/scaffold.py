"""A new SKILL.md, filled with an example, and the rule a skill's name obeys."""

from __future__ import annotations

import re

from deepnb.core.errors import DeepnbError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_name(name: str) -> str:
    """The name, if it may be a skill's: 1-64 lowercase letters, digits and single hyphens (agentskills.io)."""
    if len(name) > 64 or not _NAME.fullmatch(name):
        plain = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:64].strip("-") or "my-skill"
        raise DeepnbError(
            f"{name!r} can't be a skill's name (lowercase letters, digits, single hyphens)", f"%skills new {plain}"
        )
    return name


def scaffold(name: str, description: str = "") -> str:
    """The text of a new skill, ready to be edited."""
    title = name.replace("-", " ").capitalize()
    said = " ".join("".join(c if c.isprintable() else " " for c in description).split())  # what YAML takes
    what = (said or "What this skill is for, and when to use it.")[:1024]
    quoted = what.replace("\\", "\\\\").replace('"', '\\"')
    return f"""---
name: {name}
description: "{quoted}"
---

# {title}

1. What to look at first.
2. What to do, step by step.
3. What the answer should look like.
"""
