"""Links and files too large to read in a directory of the disk: looked at, never opened."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from deepnb.backends.tree import unfit
from deepnb.engine.obstacles import Obstacles


def obstacles(base: Path, name: str, most: int) -> Obstacles:
    """As `deepnb.engine.obstacles` says, of a directory that no link leads to."""
    found: Obstacles = {}
    with os.scandir(base) as entries:
        for entry in entries:
            if unfit(entry.name):
                continue
            with suppress(OSError):
                if entry.is_symlink():
                    if not os.path.isfile(entry.path):
                        inside = _inside(base, entry.path)
                        found[entry.name] = ("link", inside) if inside else ("link out", "")
                elif entry.is_dir(follow_symlinks=False):
                    file = os.path.join(entry.path, name)
                    if os.path.islink(file) and (said := os.readlink(file)) and unfit(said):
                        found[entry.name] = ("file link", "")
                    elif (size := os.stat(file).st_size) > most:
                        found[entry.name] = ("large", size)
    return found


def _inside(base: Path, link: str) -> str:
    """The path below `base` that a link leads to; empty where it leads elsewhere, or nowhere."""
    to = Path(os.path.realpath(link))
    return to.relative_to(base).as_posix() if to != base and to.is_relative_to(base) and to.exists() else ""
