"""The notebooks of the working directory, for the agent to read: their outlines, cells and outputs as plain text.

A notebook is somebody's file: it is parsed by nbformat and nothing of it is rendered, trusted or run. Images are named
by type and size. Texts are masked for credentials as a whole, before they are searched or cut.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from deepnb.gate import redact
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.text import terminal_text

# -- A notebook of the working directory as a file: where it is, its bytes, its version


LARGEST = 10_000_000  # bytes of a notebook that is read or written


def working_directory() -> Path:
    """Return the directory whose notebooks the agent may see."""
    try:
        return Path.cwd().resolve()
    except OSError as error:
        raise NotFoundError(f"there is no working directory ({error.strerror})", "change to one that exists") from None


def inside(root: Path, path: str) -> Path:
    """Return the file that is meant, whether it exists or not; links are followed before it is asked where it is."""
    try:
        file = (root / path).resolve()
        outside = not file.is_relative_to(root)
        file.exists()  # a name may be too long, or hold a null
    except (OSError, RuntimeError, ValueError):
        raise InvalidError(f"{path!r} can't be a file", "give the path of a .ipynb file") from None
    if outside:
        raise RefusedError(f"{path} is outside the working directory", "only notebooks in it can be read and edited")
    return file


def content_of(file: Path, name: str) -> bytes:
    """Return the bytes of a notebook; an error for one that is too large."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise InvalidError(f"{name} can't be read ({error.strerror})") from None
    if len(content) > LARGEST:
        raise LimitError(f"{name} has more than {LARGEST // 1_000_000} MB", "it can't be read")
    return content


def version_of(file: Path, content: bytes) -> str:
    """Return a hash of a notebook and its place: an edit is for the version that was read, and for no other."""
    return hashlib.sha256(os.fsencode(file) + b"\0" + content).hexdigest()[:12]


def parsed(content: bytes, name: str) -> Any:
    """Return the notebook, in format 4; not validated: its outputs may be anything."""
    try:
        import nbformat
        from nbformat import reader

        there = reader.reads(content.decode("utf-8-sig"))
        return nbformat.convert(there, 4) if reader.get_version(there)[0] < 4 else there
    except Exception as error:  # whatever is wrong with it
        raise InvalidError(f"{name} is not a notebook that nbformat can read ({type(error).__name__})") from None


def outdated(name: str) -> RefusedError:
    """Return the error where a notebook is not the version that was read."""
    return RefusedError(f"{name} has changed since that version", "read it again with read_notebook")


ANSWER = 8_000  # characters of one answer, about; an output has a quarter of them at most
MOST = 50  # notebooks that are listed or searched at once

_ENTRIES = 20_000  # files and directories that are looked at for notebooks
_LINE = 100
_BASE64 = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]{64,})")
_CELLS = re.compile(r"\s*\d{1,6}(?:\s*-\s*\d{1,6})?(?:\s*,\s*\d{1,6}(?:\s*-\s*\d{1,6})?)*\s*")


Output = tuple[str, str]  # what it is, as `stdout`, `image/png, 12 kB`, `KeyError: 'a'`, and its text


@dataclass(frozen=True)
class Cell:
    """One cell, without credentials."""

    number: int  # counted from 1
    kind: str
    source: str
    run: int | None = None  # its execution count
    outputs: tuple[Output, ...] = ()


def read_notebook(path: str = "", search: str = "", cells: str = "", detailed: bool = False) -> str:
    """Read Jupyter notebooks of the working directory: outline, chosen cells, or lines that contain a text.

    Args:
        path: A .ipynb file; empty for all of them.
        search: Text to find in sources and outputs.
        cells: Numbers of cells to show in full, e.g. "3" or "2-5".
        detailed: Show outputs in full.
    """
    try:
        root = working_directory()
        if not path:
            return _overview(root, _found(root), search)
        file = inside(root, path)
        if file.suffix != ".ipynb" or not file.is_file():
            raise NotFoundError(f"no notebook {path}", "read_notebook without a path lists them")
        if search:
            return _overview(root, [file], search)
        content = content_of(file, path)
        there, version = notebook_cells(content, path), version_of(file, content)
        if not cells:
            lines = ("\n".join([_head(cell), *_shown(cell, detailed)]) for cell in there)
            return _answer([f"{redact(path)}: {len(there)} cells, version {version}", *lines], "cells")
        if not _CELLS.fullmatch(cells):
            raise InvalidError(f"cells {cells!r} is not valid", 'give numbers such as "3" or "2-5"')
        runs = [[int(n) for n in run.split("-")] for run in cells.split(",")]
        chosen = [cell for cell in there if any(run[0] <= cell.number <= run[-1] for run in runs)]
        if not chosen:
            raise NotFoundError(f"no cells {cells}: the notebook has {len(there)}", "count from 1")
        blocks = (
            (_head(cell, short=False), _cut(cell.source, ANSWER // 2), *_shown(cell, detailed)) for cell in chosen
        )
        return _answer([f"{redact(path)}, version {version}:", *map("\n".join, blocks)], "cells")
    except DeepnbError as error:
        return f"Error: {error.typed}"


def notebook_cells(content: bytes, name: str, *, outputs: bool = True) -> tuple[Cell, ...]:
    """Return the cells of a notebook of any version of the format; masking long outputs takes a while, so they can be left out."""
    there = parsed(content, name)
    made = list[Cell]()
    try:
        for number, cell in enumerate(there["cells"], 1):
            shown = list[Output]()
            for key, bundle in (cell.get("attachments") or {}).items() if outputs else ():
                shown += (_image(f"attachment {key}: {mime}", data) for mime, data in bundle.items())
            for output in cell.get("outputs") or () if outputs else ():
                shown += _outputs(output)
            kind, run = redact(str(cell.get("cell_type"))), cell.get("execution_count")
            ran = run if isinstance(run, int) else None
            made.append(Cell(number, kind, _text(cell.get("source")), ran, tuple(shown)))
        return tuple(made)
    except Exception as error:  # whatever is wrong with it
        raise InvalidError(f"{name} is not a notebook that nbformat can read ({type(error).__name__})") from None


def _found(root: Path) -> list[Path]:
    """Return the notebooks below the working directory, by path; none of hidden directories."""
    found: list[Path] = []
    looked = 0
    for directory, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name[0] != "." and name not in ("__pycache__", "node_modules"))
        looked += len(below) + len(names)
        files = (Path(directory, name) for name in sorted(names) if name.endswith(".ipynb") and name[0] != ".")
        found += [file for file in files if file.is_file() and file.resolve().is_relative_to(root)]
        if len(found) > MOST or looked > _ENTRIES:
            break
    return found


def _outputs(output: Mapping[str, Any]) -> Iterator[Output]:
    if output.get("output_type") == "stream":
        yield redact(str(output.get("name"))), _text(output.get("text"))
        return
    if output.get("output_type") == "error":
        yield _text(f"{output.get('ename')}: {output.get('evalue')}"), _text(output.get("traceback"), "\n")
        return
    data = output.get("data") or {}
    texts = [mime for mime in ("text/plain", "text/markdown", "text/latex", "application/json") if mime in data]
    for mime, value in data.items():
        if mime.startswith("image/") or mime == "application/pdf":
            yield _image(mime, value)
        elif not texts:
            yield redact(f"{mime}, {len(str(value)):,} characters"), ""
    if texts:
        yield texts[0], _text(data[texts[0]])


def _image(name: str, value: object) -> Output:
    text = "".join(value) if isinstance(value, list) else str(value)
    size = len(text) if "svg" in name else len(text.strip()) * 3 // 4  # in base64
    return redact(f"{name}, {_kilobytes(size)}"), ""


def _text(value: object, joint: str = "") -> str:
    """Return a text of a notebook without credentials, colours of terminals, and images in it."""
    text = joint.join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return redact(_BASE64.sub(lambda m: f"[{m[1]}, {_kilobytes(len(m[2]) * 3 // 4)}]", terminal_text(text)))


def _overview(root: Path, files: list[Path], search: str) -> str:
    """Return a line for each notebook, or `a.ipynb 3 code: the line` for each line of a source or an output with a text."""
    sought, lines = search.casefold(), list[str]()
    for file in files[:MOST]:
        name = redact(str(file.relative_to(root)))
        try:
            there = notebook_cells(content_of(file, name), name, outputs=bool(search))
        except DeepnbError as error:
            lines.append(error.typed)
            continue
        if not search:
            title = next((one for cell in there if cell.kind == "markdown" and (one := _first(cell.source))), "")
            lines.append(f"{name}: {len(there)} cells" + (f", {title}" if title else ""))
        for cell in there if search else ():
            texts = [(cell.kind, cell.source), *(("output", f"{title}\n{text}") for title, text in cell.outputs)]
            hits = ((kind, line) for kind, text in texts for line in text.splitlines() if sought in line.casefold())
            lines += [f"{name} {cell.number} {kind}: {_cut(' '.join(line.split()), _LINE)}" for kind, line in hits]
    if not lines:
        return f"no line contains {redact(search)!r}" if search else "there are no notebooks in the working directory"
    more = f"only the first {MOST} notebooks were searched" if search else "there are more notebooks"
    left = [f"{more}: name a path"] if len(files) > MOST else []
    return _answer([*lines, *left], "lines" if search else "notebooks")


def _head(cell: Cell, short: bool = True) -> str:
    run = f" [{cell.run}]" if cell.run is not None else ""
    return f"{cell.number} {cell.kind}{run}:" + (f" {_brief(cell.source)}" if short else "")


def _shown(cell: Cell, detailed: bool) -> Iterator[str]:
    for title, text in ((title, text.rstrip()) for title, text in cell.outputs):
        if detailed and text:
            yield f"  -> {title}\n{_cut(text, ANSWER // 4)}"
        else:
            yield f"  -> {_cut(title, _LINE)}" + (f": {_brief(text)}" if text else "")


def _answer(blocks: list[str], what: str) -> str:
    used, shown = 0, 0
    for block in blocks:
        used += len(block) + 1
        if shown and used > ANSWER:
            break
        shown += 1
    left = len(blocks) - shown
    return "\n".join([*blocks[:shown], *([f"{left} more {what} not shown"] if left else [])])


def _first(text: str) -> str:
    return _cut(next((" ".join(line.split()) for line in text.splitlines() if line.strip()), ""), _LINE)


def _brief(text: str) -> str:
    more = text.strip().count("\n")
    return _first(text) + (f" (+{more} line{'s' if more > 1 else ''})" if more else "")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit:,} more characters)"


def _kilobytes(size: int) -> str:
    return f"{size:,} bytes" if size < 1_000 else f"{size / 1_000:,.0f} kB"


# -- which notebook is open on this kernel, as far as the front end tells: the agent never writes that file behind its back


def is_open(file: Path, cells: Collection[str], namespace: Mapping[str, Any]) -> bool:
    """Return whether a file is the notebook that is open: by its path, or by the ids of its `cells`.

    VS Code sets the path as a variable. Jupyter's server sets it as the kernel starts, and it is stale once the
    notebook is renamed. So a file that holds a cell which ran here counts as well, unless the path that is set holds
    one: then the file is a copy of that notebook.
    """
    paths = set(_paths(namespace))
    if file in paths:
        return True
    ran: Collection[str] = getattr(namespace, "cell_ids", frozenset())
    saved = (cell.get("id") for path in paths for cell in _saved_cells(path))
    return not set(ran).isdisjoint(cells) and set(ran).isdisjoint(saved)


def notebook_path(namespace: Mapping[str, Any]) -> Path | None:
    """Return the notebook that is open, as far as the front end tells."""
    return next(_paths(namespace), None)


def below(file: Path, cell: str) -> str:
    """Return the source of the cell below another one, as the notebook was saved; "" if it is the last."""
    cells = pairwise(_saved_cells(file))
    return next((str(after.get("source")).rstrip() for one, after in cells if one.get("id") == cell), "")


def _paths(namespace: Mapping[str, Any]) -> Iterator[Path]:
    for name in (namespace.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")):
        if type(name) is str and name.endswith(".ipynb"):
            try:
                yield Path(name).resolve()
            except (OSError, RuntimeError, ValueError):  # a path that can't be one
                continue


def _saved_cells(file: Path) -> Sequence[Any]:
    try:
        return parsed(content_of(file, file.name), file.name).get("cells") or ()
    except DeepnbError:
        return ()
