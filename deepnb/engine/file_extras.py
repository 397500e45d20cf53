"""What a backend may do beyond deepagents' protocol, and what is so of one that can't."""

from collections.abc import Mapping
from typing import Any, Literal

from deepnb.values.files import utf8

SkipReason = Literal["link", "link out", "file link", "large"]

SkippedEntries = dict[str, tuple[SkipReason, str | int]]
"""Name of an entry -> what it is: a `link` to a directory in here (its path), a `link out` of here or to nowhere,
a directory whose file is a link that is not followed (`file link`), or is `large` (its bytes)."""


EXTRAS = ("append_text", "file_versions", "skipped_entries")
"""The optional methods, by which the functions below ask a backend that has them all."""


def has_extras(backend: Any) -> bool:
    """Return whether a backend has the optional methods."""
    return all(hasattr(backend, name) for name in EXTRAS)


def append_text(backend: Any, path: str, text: str) -> str | None:
    """Add `text` to the end of a file, which is made where it is missing; return the error, if any."""
    if has_extras(backend):
        return backend.append_text(path, text)  # type: ignore[no-any-return]
    found = backend.download_files([path])[0]
    if found.content is None and found.error != "file_not_found":
        return f"Error: {path} can't be read ({found.error})"
    if (before := utf8(found.content or b"")) is None:
        return f"Error: {path} is not UTF-8 text"
    error = backend.write(path, before + text).error
    return str(error) if error else None


def file_versions(backend: Any, directory: str) -> Mapping[str, Any] | None:
    """Return path -> what is equal to what it was before as long as that file has not changed, of all files below a directory.

    A file whose version is None may have changed; None in place of all where nobody knows. A backend that knows that
    nothing has changed returns the very same mapping. Files that a listing leaves out may be among them, and a link
    under its path with a / at the end.
    """
    return backend.file_versions(directory) if has_extras(backend) else None


def skipped_entries(backend: Any, directory: str, name: str, most: int) -> SkippedEntries:
    """Return the links directly in `directory`, and the directories in it whose file `name` can't be read, or has more than `most` bytes.

    Links to files are left out.
    """
    return backend.skipped_entries(directory, name, most) if has_extras(backend) else {}
