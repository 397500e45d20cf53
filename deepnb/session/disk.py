"""Files of the user's disk that a session writes and reads: a thread as a file, tapes."""

from pathlib import Path

from deepnb.context.transcript import to_json
from deepnb.models.tapes.model import TapeModel, tape_model
from deepnb.running.workspace import Workspace
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError
from deepnb.values.events import without_credentials
from deepnb.values.files import disk_path, make_folder, write_whole
from deepnb.values.text import as_word


def named_file(path: str | Path, *kinds: str) -> Path:
    """The file that is meant, whose name ends in one of `kinds`; behind a link, the one that the link leads to."""
    file = disk_path(path).resolve()
    if file.suffix not in kinds or file.is_dir():
        what = "is a directory" if file.is_dir() else "has no ending that says what it is"
        *others, last = kinds
        raise InvalidError(f"{path} {what}", f"end the name in {', '.join(others)}{' or ' if others else ''}{last}")
    return file


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
