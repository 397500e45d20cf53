"""A thread as a file: a notebook, a page for a browser, or its transcript, without credentials.

The end of the name decides: `.ipynb` is a notebook whose cells are the prompts, with their answers as outputs; `.html`
one page with no script and nothing from elsewhere; `.jsonl` the transcript, which `%agent open` reads again.
"""

from pathlib import Path

from deepnb.context.transcript import to_json
from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace
from deepnb.session.disk import named_file
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import NotFoundError, RefusedError
from deepnb.values.events import without_credentials
from deepnb.values.files import make_folder, write_whole

KINDS = (".ipynb", ".html", ".jsonl")
"""What the name of the file ends in."""


def export(workspace: Workspace, path: str | Path, thread: str, *, overwrite: bool) -> Path:
    """Write a thread to a file of the disk, whole or not at all; returns the file.

    The end of the name says what is written. A file that exists is an error, unless `overwrite`.
    """
    file = named_file(path, *KINDS)
    one = workspace.threads[thread]
    if not one.turns:
        raise NotFoundError(f"thread {one.name} has no turns yet", "%agent PROMPT starts one")
    if file.exists() and not overwrite:
        raise RefusedError(f"{path} exists already", f"%agent export --yes {path} overwrites it")
    content = _transcript(workspace, one) if file.suffix == ".jsonl" else _conversation(one, file.suffix)
    try:
        make_folder(file.parent)
        write_whole(file, content)
    except OSError as error:
        raise RefusedError(f"{path} can't be written ({error.strerror})", "choose another file") from None
    return file


def _conversation(thread: Thread, kind: str) -> bytes:
    from deepnb.views.export import conversation_notebook, conversation_page

    turns = [without_credentials(turn) for turn in thread.turns]
    title = f"Thread {thread.name}"
    text = conversation_notebook(title, turns, CODE_TOOLS) if kind == ".ipynb" else conversation_page(title, turns)
    return text.encode("utf-8", "replace")  # half of a surrogate pair is no text


def _transcript(workspace: Workspace, thread: Thread) -> bytes:
    """Its lines as they are kept; of a thread that only a checkpointer knows they are made first."""
    one = workspace.transcripts.keep(thread.name)
    if not one.begun and not one.read()[0]:
        workspace.transcripts.outside(thread.name, thread.snapshot.messages, ())
    return b"".join(map(to_json, one.read()[0]))
