"""A new SKILL.md, filled with an example, and the name it may have."""

import unicodedata

import yaml

from deepnb.skills.names import near, wrong_name
from deepnb.skills.rules import DESCRIPTION
from deepnb.values.errors import InvalidError


def check_name(name: str) -> str:
    """The name as it is compared (NFKC), if it may be a skill's (agentskills.io)."""
    folded = unicodedata.normalize("NFKC", name)
    if wrong := wrong_name(folded):
        raise InvalidError(f"{name!r} can't be a skill's name ({wrong})", f"%skills new {near(name)}")
    return folded


def scaffold(name: str, description: str = "") -> str:
    """The text of a new skill that can be used as it is, to be edited."""
    title = name.replace("-", " ").capitalize()
    said = " ".join("".join(c if c.isprintable() else " " for c in description).split())  # what YAML takes
    what = (said or f"{title}: what it does in a few words. Use it when the user asks for that.")[:DESCRIPTION]
    quoted = what.replace("\\", "\\\\").replace('"', '\\"')
    return f"""---
name: {name if yaml.safe_load(name) == name else f'"{name}"'}
description: "{quoted}"
# license: MIT
# compatibility: needs pandas
# allowed-tools: inspect_variable read_file
# metadata:
#   author: you
---

# {title}

The agent reads this text only when a request needs it; until then it sees only the description.

## Steps

1. Look at the data first: `inspect_variable` gives columns, types and missing values.
2. Do one thing at a time, and say what each step found.
3. End with one sentence that answers the question, and name what you are not sure of.

## An example

Asked "which city grew most?", the answer is: "Lagos, by 3.2 million people; 2 of 40 rows had no figure."
"""
