"""A file of the disk that is written whole or not at all; what is new is its owner's alone, as the talk it may hold is."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a directory, and those above it that are missing."""
    for one in reversed((folder, *folder.parents)):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def write_whole(file: Path, content: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file in one step: a crash leaves the old one, or the new one. `check` is the last thing before it."""
    draft = file.with_name(f".{file.name[:80]}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if file.exists():
            shutil.copymode(file, draft)
        check()
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
