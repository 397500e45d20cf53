"""The frozen sets; what is read of a text file stands there a line each, below a heading `== NAME`."""

import json
import re
from pathlib import Path
from typing import Any

from tests import DATA


def sections(name: str, folder: Path = DATA) -> dict[str, list[str]]:
    """Return heading -> lines of a file."""
    parts = re.split(r"^== (.*)\n", (folder / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {head: text.rstrip("\n").split("\n") for head, text in zip(parts[::2], parts[1::2], strict=True)}


def texts(name: str) -> dict[str, list[str]]:
    """Return heading -> what the lines of a file stand for."""
    return {head: [unescaped(line) for line in lines] for head, lines in sections(name).items()}


def table(name: str) -> dict[str, list[list[str]]]:
    """Return heading -> rows of a file, which have ` => ` between their cells."""
    return {head: [line.split(" => ") for line in lines] for head, lines in texts(name).items()}


def rows(name: str) -> dict[str, Any]:
    """Return heading -> rows of a file of JSON."""
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def unescaped(line: str) -> str:
    """Return what a line of a file stands for: `\\n` for a line's end, `\\t` for a tab, two backslashes for one."""
    return line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
