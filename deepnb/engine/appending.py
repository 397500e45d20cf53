"""Adding to the end of a file without writing the whole of it again, on backends that can."""

from __future__ import annotations

from typing import Any


def append_text(backend: Any, path: str, text: str) -> str | None:
    """Add `text` to the end of a file, which is made where it is missing; gives the error, if any.

    The protocol has no such thing: a backend that can has a method `append_text`; of any other the
    file is read and written whole.
    """
    if append := getattr(backend, "append_text", None):
        return append(path, text)  # type: ignore[no-any-return]
    found = backend.download_files([path])[0]
    if found.content is None and found.error != "file_not_found":
        return f"Error: {path} can't be read ({found.error})"
    try:
        held = (found.content or b"").decode("utf-8")
    except UnicodeDecodeError:
        return f"Error: {path} is not UTF-8 text"
    error = backend.write(path, held + text).error
    return str(error) if error else None
