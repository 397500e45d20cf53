"""A file of the disk that is written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path


def write_whole(file: Path, content: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file in one step: a crash leaves the old one, or the new one. `check` is the last thing before it."""
    draft = file.with_name(f".{file.name[:80]}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if file.exists():
            shutil.copymode(file, draft)
        check()
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
