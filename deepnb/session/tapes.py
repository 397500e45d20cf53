"""Recording the calls of models to a tape, and playing one in their place."""

from pathlib import Path

from deepnb.core.errors import BusyError, InvalidError
from deepnb.core.tape import Tape
from deepnb.models.tapes.model import TapeModel, tape_model
from deepnb.models.tapes.recorder import Recording
from deepnb.running.workspace import Workspace

KIND = ".jsonl"
"""What the name of a tape ends in."""


def record(workspace: Workspace, path: str | Path, *, note: str, overwrite: bool) -> Recording:
    """Begin a tape; one at a time."""
    current = workspace.current
    current.idle()
    if (running := current.recording) is not None and running.active:
        raise BusyError(f"already {running.line}", "%agent record stop ends it")
    made = Recording(_file(path), current.now, note, overwrite=overwrite)
    current.recording = made
    current.tell()
    return made


def replay(workspace: Workspace, path: str | Path, *, pace: bool) -> Tape:
    """Play a tape from the next turn on."""
    model = tape_model(_file(path), workspace.current.now, pace=pace)
    workspace.configure({"model": model, "base_url": None})
    return tape_of(model)


def tape_of(model: TapeModel) -> Tape:
    """The tape that a model plays."""
    tape: Tape = model.player.tape
    return tape


def played(workspace: Workspace) -> Tape | None:
    """The tape that is played in the place of a model."""
    model = workspace.options.model
    return tape_of(model) if isinstance(model, TapeModel) else None


def _file(path: str | Path) -> Path:
    """The file that is meant; behind a link, the one that the link leads to."""
    try:
        file = Path(path).expanduser().resolve()
        directory = file.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidError(f"{str(path)!r} can't be a file ({error})", "choose another name") from None
    if directory or file.suffix != KIND:
        raise InvalidError(
            f"{path} {'is a directory' if directory else 'is no name of a tape'}", f"end the name in {KIND}"
        )
    return file
