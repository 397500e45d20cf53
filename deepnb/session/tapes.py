"""Recording the calls of models to a tape, and playing one in their place."""

from pathlib import Path

from deepnb.models.tapes.model import TapeModel, tape_model
from deepnb.models.tapes.recorder import Recording
from deepnb.models.tapes.tape import Tape
from deepnb.running.workspace import Workspace
from deepnb.session.disk import named_file
from deepnb.values.errors import BusyError

KIND = ".jsonl"
"""What the name of a tape ends in."""


def record(workspace: Workspace, path: str | Path, *, note: str, overwrite: bool) -> Recording:
    """Begin a tape; one at a time."""
    current = workspace.current
    current.idle()
    workspace.need("tapes")
    if (running := current.recording) is not None and running.active:
        raise BusyError(f"already {running.line}", "%agent record stop ends it")
    made = Recording(named_file(path, KIND), current.now, note, overwrite=overwrite, name=path)
    current.recording = made
    current.tell()
    return made


def replay(workspace: Workspace, path: str | Path, *, pace: bool) -> Tape:
    """Play a tape from the next turn on."""
    workspace.need("tapes")
    model = tape_model(named_file(path, KIND), workspace.current.now, pace=pace)
    window = workspace.options.max_input_tokens
    workspace.configure({"model": model, "base_url": None, "max_input_tokens": window})
    return tape_of(model)


def named_tape(workspace: Workspace, path: str | Path) -> TapeModel:
    """The model that plays a tape."""
    workspace.need("tapes")
    return tape_model(named_file(path, KIND), workspace.current.now)


def tape_of(model: TapeModel) -> Tape:
    """The tape that a model plays."""
    tape: Tape = model.player.tape
    return tape


def played(workspace: Workspace) -> Tape | None:
    """The tape that is played in the place of a model."""
    model = workspace.options.model
    return tape_of(model) if isinstance(model, TapeModel) else None
