"""Copies of memory files on the user's disk: taken from there, and put there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deepnb.core.errors import DeepnbError

if TYPE_CHECKING:
    from deepnb.agent.session import Session

LARGEST = 10_000_000
"""Bytes of a file that is loaded."""


def load(session: Session, file: str | Path, path: str | None) -> str:
    """Write the text of a file of the disk to a memory file (the first source, if not given); gives its path."""
    place = Path(file).expanduser()
    if not place.is_file():
        raise DeepnbError(f"no file {file}", "type the path of a Markdown file on this disk")
    if place.stat().st_size > LARGEST:
        raise DeepnbError(f"{file} has more than {LARGEST // 1_000_000} MB", "memory is for notes: load a shorter one")
    try:
        text = place.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DeepnbError(f"{file} is not UTF-8 text (byte {error.start})", "save it as UTF-8 first") from None
    except OSError as error:
        raise DeepnbError(f"{file} can't be read ({error.strerror})") from None
    path = path or session.memory.sources[0]
    session.memory.write(path, text)
    _known(session)[place.resolve()] = text
    return path


def save(session: Session, file: str | Path, path: str | None, *, overwrite: bool) -> tuple[tuple[str, Path], ...]:
    """Write memory to the disk; gives (path, file) of each file written.

    A name that ends in `.md` takes one memory file (the first source, if not given); any other is a
    directory, below which each goes under its own path. A file there that holds a text other than the
    one last loaded from it or saved to it is an error before anything is written, unless `overwrite`.
    """
    place = Path(file).expanduser()
    if place.suffix == ".md" and not place.is_dir():
        one = path or session.memory.sources[0]
        pairs = [(one, place)]
    elif path:
        pairs = [(path, place / path.lstrip("/"))]
    else:
        pairs = [(p, place / p.lstrip("/")) for p in session.memory.paths()]
    if not pairs:
        raise DeepnbError("there is no memory to save yet", "%memory add TEXT")
    texts = {p: session.memory.read(p) for p, _ in pairs}
    known = _known(session)
    for p, target in pairs:
        there = _text(target)
        if there is not None and there not in (texts[p], known.get(target.resolve())) and not overwrite:
            raise DeepnbError(f"{target} holds another text", f"%memory save --yes {file} writes over it")
    for p, target in pairs:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(texts[p].encode())
        except OSError as error:
            raise DeepnbError(f"{target} can't be written ({error.strerror})", "type another place") from None
        known[target.resolve()] = texts[p]
    return tuple(pairs)


def _text(file: Path) -> str | None:
    """The text of a file; None where there is none. Bytes that are not text are text that nothing equals."""
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DeepnbError(f"{file} can't be read ({error.strerror})", "type another place") from None


def _known(session: Session) -> dict[Path, str]:
    """file -> text as it was last loaded or saved in this session."""
    return session.memory.copies
