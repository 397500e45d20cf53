"""What stands in a directory and is not listed, or should not be read, on backends that can tell."""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal["link", "link out", "file link", "large"]

Obstacles = dict[str, tuple[Kind, str | int]]
"""Name of an entry -> what it is: a `link` to a directory in here (its path), a `link out` of here or to nowhere,
a directory whose file is a link that is not followed (`file link`), or is `large` (its bytes)."""


def obstacles(backend: Any, directory: str, name: str, most: int) -> Obstacles:
    """The links directly in `directory`, and the directories in it whose file `name` can't be read, or has more than `most` bytes.

    The protocol has no such thing: a backend that can tell has a method `obstacles`. Links to files are left out.
    """
    tell = getattr(backend, "obstacles", None)
    return {} if tell is None else tell(directory, name, most)  # type: ignore[no-any-return]
