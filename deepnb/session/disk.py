"""What a session writes to the user's disk and reads from it: copies of memory files, a thread as a file, tapes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from deepnb.context.transcript import to_json
from deepnb.models.tapes.model import TapeModel, tape_model
from deepnb.running.workspace import Workspace
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.events import without_credentials
from deepnb.values.files import disk_path, make_folder, write_whole
from deepnb.values.text import as_word

LARGEST = 10_000_000
"""Bytes of a file that is loaded."""


def load(file: str | Path) -> tuple[Path, str]:
    """(file, resolved, and its text) of a file of the disk that is to become a memory file."""
    place = disk_path(file)
    if not place.is_file():
        raise NotFoundError(f"no file {file}", "type the path of a Markdown file on this disk")
    if place.stat().st_size > LARGEST:
        raise LimitError(f"{file} has more than {LARGEST // 1_000_000} MB", "load a shorter file")
    try:
        return place.resolve(), place.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{file} is not UTF-8 text (byte {error.start})", "save it as UTF-8 first") from None
    except OSError as error:
        raise InvalidError(f"{file} can't be read ({error.strerror})") from None


def named_file(path: str | Path, *kinds: str) -> Path:
    """The file that is meant, whose name ends in one of `kinds`; behind a link, the one that the link leads to."""
    file = disk_path(path).resolve()
    if file.suffix not in kinds or file.is_dir():
        what = "is a directory" if file.is_dir() else "has no ending that says what it is"
        *others, last = kinds
        raise InvalidError(f"{path} {what}", f"end the name in {', '.join(others)}{' or ' if others else ''}{last}")
    return file


def targets(file: str | Path, path: str | None, first: str, paths: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """(memory file, file of the disk) of what is saved.

    A name that ends in `.md` takes one memory file (the first source, if none is named); any other is a
    directory, below which each goes under its own path.
    """
    place = disk_path(file)
    if place.suffix == ".md" and not place.is_dir():
        return ((path or first, place),)
    return tuple((p, place / p.lstrip("/")) for p in ((path,) if path else paths))


def save(
    file: str | Path,
    pairs: Sequence[tuple[str, Path]],
    texts: Mapping[str, str],
    known: Mapping[Path, str],
    *,
    overwrite: bool,
) -> dict[Path, str]:
    """Write memory files to the disk; gives the text of each file written.

    A file there that holds a text other than the one last loaded from it or saved to it (`known`) is an error
    before anything is written, unless `overwrite`.
    """
    for p, target in pairs:
        there = _text(target)
        if there is not None and there not in (texts[p], known.get(target.resolve())) and not overwrite:
            raise RefusedError(
                f"{target} has changed on disk", f"%memory save --yes {as_word(str(file))} overwrites it"
            )
    written = {}
    for p, target in pairs:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(texts[p].encode())
        except OSError as error:
            raise RefusedError(f"{target} can't be written ({error.strerror})", "choose another file") from None
        written[target.resolve()] = texts[p]
    return written


def _text(file: Path) -> str | None:
    """The text of a file; None if it does not exist. Bytes that are not text are text that nothing equals."""
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidError(f"{file} can't be read ({error.strerror})", "choose another file") from None


def made_directory(name: str | Path) -> Path:
    """The directory, made where it is missing; one line of error where nothing can be written there."""
    from deepnb.backends.locks import directory_lock

    chosen = disk_path(name)
    if chosen.exists() and not chosen.is_dir():
        raise InvalidError(f"{name} is a file", "type the name of a directory")
    try:
        make_folder(chosen)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidError(f"{name} can't be made ({why})", "type a directory you can write to") from None
    with directory_lock(chosen.resolve()):
        return chosen.resolve()


# -- A thread as a file: a notebook, a page for a browser, or its transcript, without credentials


KINDS = (".ipynb", ".html", ".jsonl")


def export(workspace: Workspace, path: str | Path, thread: str, *, overwrite: bool) -> Path:
    """Write a thread as a file: a notebook, a page for a browser, or its transcript, without credentials.

    The end of the name decides: `.ipynb` is a notebook whose cells are the prompts, with their answers as outputs; `.html`
    one page with no script and nothing from elsewhere; `.jsonl` the transcript, which `%agent open` reads again.
    """
    file = named_file(path, *KINDS)
    one = workspace.threads[thread]
    if not one.turns:
        raise NotFoundError(f"thread {one.name} has no turns yet", "%agent PROMPT starts one")
    if file.exists() and not overwrite:
        raise RefusedError(f"{path} exists already", f"%agent export --yes {as_word(str(path))} overwrites it")
    if file.suffix == ".jsonl":
        kept = workspace.transcripts.keep(one.name)
        if not kept.begun and not kept.read()[0]:  # of a thread that only a checkpointer knows its lines are made first
            workspace.transcripts.outside(one.name, one.snapshot.messages, ())
        content = b"".join(map(to_json, kept.read()[0]))
    else:
        from deepnb.views.export import conversation_notebook, conversation_page

        turns, title = [without_credentials(turn) for turn in one.turns], f"Thread {one.name}"
        is_page = file.suffix == ".html"
        text = conversation_page(title, turns) if is_page else conversation_notebook(title, turns, CODE_TOOLS)
        content = text.encode("utf-8", "replace")  # half of a surrogate pair is no text
    try:
        make_folder(file.parent)
        write_whole(file, content)
    except OSError as error:
        raise RefusedError(f"{path} can't be written ({error.strerror})", "choose another file") from None
    return file


# -- tapes, which play the calls of models that were recorded


TAPE = ".jsonl"


def named_tape(workspace: Workspace, path: str | Path) -> TapeModel:
    """The model that plays a tape."""
    workspace.need("tapes")
    return tape_model(named_file(path, TAPE), workspace.current.now)
