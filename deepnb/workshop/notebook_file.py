"""A notebook of the working directory as a file: where it is, its bytes, its version."""

import hashlib
import os
from pathlib import Path
from threading import Lock
from typing import Any

from deepnb.values.errors import InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.files import write_whole

LARGEST = 10_000_000
"""Bytes of a notebook that is read or written."""

_WRITING = Lock()


def working_directory() -> Path:
    """The directory whose notebooks the agent may see."""
    try:
        return Path.cwd().resolve()
    except OSError as error:
        raise NotFoundError(f"there is no working directory ({error.strerror})", "change to one that exists") from None


def inside(root: Path, path: str) -> Path:
    """The file that is meant, whether it exists or not; links are followed before it is asked where it is."""
    try:
        file = (root / path).resolve()
        outside = not file.is_relative_to(root)
        file.exists()  # a name may be too long, or hold a null
    except (OSError, RuntimeError, ValueError):
        raise InvalidError(f"{path!r} can't be a file", "give the path of a .ipynb file") from None
    if outside:
        raise RefusedError(f"{path} is outside the working directory", "only notebooks in it can be read and edited")
    return file


def existing(root: Path, path: str) -> Path:
    """The notebook that is meant."""
    file = inside(root, path)
    if file.suffix != ".ipynb" or not file.is_file():
        raise NotFoundError(f"no notebook {path}", "read_notebook without a path lists them")
    return file


def content_of(file: Path, name: str) -> bytes:
    """The bytes of a notebook; an error for one that is too large."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise InvalidError(f"{name} can't be read ({error.strerror})") from None
    if len(content) > LARGEST:
        raise LimitError(f"{name} has more than {LARGEST // 1_000_000} MB", "it can't be read")
    return content


def version_of(file: Path, content: bytes) -> str:
    """A hash of a notebook and its place: an edit is for the version that was read, and for no other."""
    return hashlib.sha256(os.fsencode(file) + b"\0" + content).hexdigest()[:12]


def parsed(content: bytes, name: str, *, convert: bool = True) -> Any:
    """The notebook, in format 4 unless with `convert=False`; not validated: its outputs may be anything."""
    try:
        import nbformat
        from nbformat import reader

        there = reader.reads(content.decode("utf-8-sig"))
        return nbformat.convert(there, 4) if convert and reader.get_version(there)[0] < 4 else there
    except Exception as error:  # whatever is wrong with it
        raise InvalidError(f"{name} is not a notebook that nbformat can read ({type(error).__name__})") from None


def replace_content(file: Path, name: str, before: bytes | None, after: bytes) -> None:
    """Write a notebook whole or not at all, and only over the bytes it was planned for (None: no file)."""

    def check() -> None:
        if (content_of(file, name) if file.exists() else None) != before:
            raise outdated(name)

    with _WRITING:
        try:
            write_whole(file, after, check)
        except OSError as error:
            raise InvalidError(f"{name} can't be written ({error.strerror})") from None


def outdated(name: str) -> RefusedError:
    """The error where a notebook is not the version that was read."""
    return RefusedError(f"{name} has changed since that version", "read it again with read_notebook")
