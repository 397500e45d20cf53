"""Paths of files in a backend."""

from deepnb.values.errors import InvalidError


def check_path(path: str) -> str:
    """The path, if it is one of a file in the backend: absolute, and without `..`."""
    if not path.startswith("/") or path.endswith("/") or any(part in ("", ".", "..") for part in path[1:].split("/")):
        raise InvalidError(f"{path!r} is not the path of a file", "type an absolute path, such as /AGENTS.md")
    return path
