"""What an edit of a notebook would write, computed before anything is asked or written: for the card, and for the tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnb.core.errors import DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.core.notebook_diff import NotebookDiff
from deepnb.core.secrets import credentials, redact
from deepnb.workshop import notebook_file as files
from deepnb.workshop.notebook_edits import cell_edits, edited_cells
from deepnb.workshop.open_notebook import is_open


@dataclass(frozen=True)
class NotebookPlan:
    """One change of one notebook."""

    file: Path
    before: bytes | None
    """The file that it was planned for."""
    after: bytes
    diff: NotebookDiff
    cells: int
    """How many cells there are afterwards."""

    def write(self) -> str:
        """Write it, if the file is what it was; gives a line that says what was done."""
        files.replace_content(self.file, self.diff.path, self.before, self.after)
        done = ", ".join(f"{_DONE[cell.lines.kind]} cell {cell.number}" for cell in self.diff.cells)
        version = files.version_of(self.file, self.after)
        made = "made, " if self.diff.new else ""
        return f"{self.diff.path}: {made}{done}; nothing was run. {self.cells} cells, version {version}"


_DONE = {"added": "inserted", "removed": "deleted", "changed": "replaced"}


def notebook_plan(namespace: Mapping[str, Any], path: str, edits: Sequence[Any], version: str = "") -> NotebookPlan:
    """What these edits would make of a notebook as it is now; an error where they can't, or may not, be made."""
    if credentials(path):
        raise RefusedError("not written: the path itself holds a credential")
    root = files.working_directory()
    file = files.inside(root, path)
    before = files.content_of(file, path) if file.is_file() else None
    there = _new_notebook(file, path, version) if before is None else _notebook(file, before, path, version)
    ids = [str(cell.get("id")) for cell in there["cells"]]
    if is_open(file, ids, namespace):
        raise RefusedError(f"{path} is open here, and is not written behind its back", "use propose_cell")
    has_ids = (there["nbformat"], there["nbformat_minor"]) >= (4, 5)
    chosen = cell_edits(edits, len(ids))
    there["cells"], cells = edited_cells(there["cells"], chosen, path, ids=has_ids)
    after = _written(there, path)
    return NotebookPlan(file, before, after, NotebookDiff(path, cells, before is None), len(there["cells"]))


def notebook_diff(namespace: Mapping[str, Any], args: Mapping[str, Any]) -> NotebookDiff:
    """What a call of the tool would do to a notebook as it is now, or why it would do nothing."""
    try:
        return notebook_plan(namespace, args["path"], args["edits"], args.get("version", "")).diff
    except DeepnbError as error:
        return NotebookDiff(redact(args["path"]), (), problem=error.typed)


def _notebook(file: Path, content: bytes, name: str, version: str) -> Any:
    """The notebook of a file, if it is the version that was read."""
    if file.suffix != ".ipynb":
        raise InvalidError(f"{name} is no notebook", "give the path of a .ipynb file")
    if not version:
        raise RefusedError(f"{name} exists", "read it with read_notebook and give its version")
    if version != files.version_of(file, content):
        raise files.outdated(name)
    there = files.parsed(content, name, convert=False)
    if there.get("nbformat") != 4:
        raise InvalidError(f"{name} is in an old format of notebooks", "open it in Jupyter and save it")
    _check(there, name)
    return there


def _new_notebook(file: Path, name: str, version: str) -> Any:
    from nbformat import v4

    if file.suffix != ".ipynb" or file.exists():
        raise InvalidError(f"{name} can't be a notebook", "give the path of a .ipynb file")
    if version or not file.parent.is_dir():
        what = f"no notebook {name}" if version else f"{name} would be in a directory that does not exist"
        raise NotFoundError(what, "read_notebook without a path lists them")
    python = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return v4.new_notebook(metadata={"kernelspec": python, "language_info": {"name": "python"}})


def _written(there: Any, name: str) -> bytes:
    """The file as nbformat writes it; one that is not valid is an error."""
    import nbformat

    _check(there, name)
    try:
        content = f"{nbformat.versions[4].writes_json(there).rstrip()}\n".encode()
    except UnicodeEncodeError:
        raise InvalidError(f"{name} holds half of a character that takes two", "remove it in Jupyter") from None
    if len(content) > files.LARGEST:
        raise LimitError(f"{name} would have more than {files.LARGEST // 1_000_000} MB", "it is not written")
    return content


def _check(there: Any, name: str) -> None:
    from nbformat import validator

    try:
        wrong = next((str(error.message) for error in validator.iter_validate(there)), None)
    except Exception as error:  # a version that is no number, for example
        wrong = type(error).__name__
    if wrong is not None:
        raise InvalidError(f"{name} is not valid ({redact(wrong):.80})", "open it in Jupyter and save it")
