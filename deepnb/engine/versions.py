"""Whether the files of a directory are as they were, without reading them, on backends that can tell."""

from __future__ import annotations

from typing import Any


def folder_version(backend: Any, directory: str, name: str) -> Any:
    """What is equal to what it was before as long as nothing here has changed, come or gone; None where nobody knows.

    Looked at are the files directly in `directory` and the file `name` in each directory in it. The protocol
    has no such thing: a backend that can tell has a method `folder_version`.
    """
    tell = getattr(backend, "folder_version", None)
    return None if tell is None else tell(directory, name)
