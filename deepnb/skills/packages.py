"""Skills that are not the agent's yet: bundled ones, those of a directory or of a zip; read whole, and checked.

Nothing is followed out of the place that was named: links are refused, names in a zip that leave it, and what is too large
or too many.
"""

from __future__ import annotations

import os
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from deepnb.skills.frontmatter import one_line, quoted
from deepnb.skills.rules import BYTES, DESCRIPTION, FILE_NAME, Checked, check
from deepnb.values.agent import near, normal, wrong_name
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError

FILES = 1_000  # of one skill
ALL_BYTES = 5 * BYTES  # of one skill
_TOGETHER = 4 * ALL_BYTES  # bytes of a collection, which is held in memory until it is added
_PLACES = 20_000  # files and directories that are looked at for skills
_LEFT_OUT = ("__pycache__", "__MACOSX", "node_modules")

_Files = dict[str, Path | DeepnbError]
"""Path inside a collection -> the file, which was not read yet, or why it can't be a skill's."""

BUNDLED = Path(__file__).parent / "bundled"
"""Skills that come with deepnb; none is the agent's, or costs a token, until it is added."""


@dataclass(frozen=True)
class Package:
    """One skill with its files: path inside its directory -> bytes."""

    directory: str
    files: Mapping[str, bytes]
    where: str  # how its SKILL.md is named in what is said of it

    @property
    def checked(self) -> Checked:
        return check(self.files[FILE_NAME], f"{self.where}/{FILE_NAME}")


def bundled() -> dict[str, Package]:
    """Return name -> the skills that come with deepnb."""
    return {p.directory: p for p in packages(BUNDLED)}


def packages(path: Path, left_out: list[str] | None = None) -> list[Package]:
    """Return the skills of a SKILL.md, a skill's directory, a directory of skills however deep, or a zip of any of these.

    One that can't be read whole is an error, or a line in `left_out`, if that is given.
    """
    if not path.exists():
        do = "%skills add NAME|DIR|ZIP takes a bundled skill, a directory or a zip"
        raise NotFoundError(f"there is no {path}", do)
    if path.is_file() and path.name == FILE_NAME:
        path = path.absolute().parent
    if path.is_dir():
        return _packages(_from_directory(path.resolve()), path.resolve().name, str(path), left_out)
    if not zipfile.is_zipfile(path):
        do = f"give the directory that contains {FILE_NAME}"
        raise InvalidError(f"{path.name} is neither a directory nor a zip", do)
    with tempfile.TemporaryDirectory() as folder:
        try:
            _unpack(path, folder)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
            do = "create the zip again, without a password"
            raise InvalidError(f"{path.name} can't be read ({error})", do) from None
        top = Path(folder).resolve() / FILE_NAME
        name = normal(check(top.read_bytes(), f"x/{FILE_NAME}").skill.name) if top.is_file() else ""
        return _packages(_from_directory(top.parent), name or path.stem, path.name, left_out)


def _unpack(path: Path, folder: str) -> None:
    """Unpack a zip into a directory; one that points elsewhere, or holds more than a collection may, is an error."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > _PLACES or sum(info.file_size for info in infos) > _TOGETHER:
            what = f"{path.name} has more than {_PLACES:,} files, or {_TOGETHER:,} bytes"
            raise LimitError(what, "give the directory of the skills")
        for info in infos:
            inside = PurePosixPath(info.filename)
            strange = "\\" in info.filename or "\0" in info.orig_filename or ":" in info.filename
            if strange or inside.is_absolute() or ".." in inside.parts:
                do = "create the zip from one directory only"
                raise InvalidError(f"{info.filename!r} points outside {path.name}", do)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise InvalidError(f"{inside} is a link", "replace it with a copy of its target")
        archive.extractall(folder)


def _packages(files: _Files, name: str, where: str, left_out: list[str] | None) -> list[Package]:
    """Return a skill for each directory that holds a SKILL.md, and stands in no other that does."""
    found = {path[: -len(FILE_NAME)] for path in files if f"/{path}".endswith(f"/{FILE_NAME}")}
    tops: dict[str, _Files] = {}
    meant: dict[str, DeepnbError] = {}
    for path, file in sorted(files.items()):
        above = (path[:at] for at, sign in enumerate(f"/{path}") if sign == "/")
        if (top := next((one for one in above if one in found), None)) is not None:
            tops.setdefault(top.rstrip("/"), {})[path.removeprefix(top)] = file
        else:
            *folders, last = path.split("/")
            if FILE_NAME in folders:
                place = "/".join(folders[: folders.index(FILE_NAME) + 1])
                wrong = InvalidError(f"{place} is a directory", "make it a file: it contains the text of the skill")
                meant[wrong.what] = wrong
            elif last.casefold() == FILE_NAME.casefold():
                wrong = InvalidError(f"{path} is called {last}", f"rename it to {FILE_NAME}")
                meant[wrong.what] = wrong
    if not tops:
        do = f"a skill is a directory NAME with NAME/{FILE_NAME} in it"
        raise next(iter(meant.values()), NotFoundError(f"{where} contains no {FILE_NAME}", do))
    if left_out is not None:
        left_out += (f"{where}/{error.typed}" for error in meant.values())
    made, total = list[Package](), 0
    for top, inside in tops.items():
        try:
            texts = _contents(inside, f"{top}/" if top else "")
            if (total := total + sum(map(len, texts.values()))) > _TOGETHER:
                raise LimitError(f"more than {_TOGETHER:,} bytes together", "add the rest by itself")
        except DeepnbError as error:
            if left_out is None or len(tops) == 1:
                raise
            left_out.append(f"{where}/{top}: {error.typed}" if top else error.typed)
            continue
        directory = top.rpartition("/")[2] or name
        is_named = not top and f"/{where}".endswith(f"/{directory}")
        made.append(Package(directory, texts, where if is_named else f"{where}/{top or directory}"))
    return made


def _contents(files: _Files, prefix: str) -> dict[str, bytes]:
    if len(files) > FILES:
        raise LimitError(f"more than {FILES:,} files", "leave some of them out")
    made, total = {}, 0
    for path, file in files.items():
        if isinstance(file, DeepnbError):
            raise file
        try:
            data = file.read_bytes() if file.stat().st_size <= BYTES else None
        except OSError as error:
            raise InvalidError(f"{prefix}{path} can't be read ({error.strerror})", "leave it out") from None
        if data is None:
            raise LimitError(f"{prefix}{path} has more than {BYTES:,} bytes", "leave it out")
        made[path], total = data, total + len(data)
        if total > ALL_BYTES:
            raise LimitError(f"more than {ALL_BYTES:,} bytes", "leave some of the files out")
    return made


def _from_directory(top: Path) -> _Files:
    found: _Files = {}
    folders, looked = [top], 0
    while folders:
        folder = folders.pop(0)
        try:
            for path in sorted(folder.iterdir()):
                if path.name.startswith(".") or path.name in _LEFT_OUT:
                    continue
                if (looked := looked + 1) > _PLACES:
                    raise LimitError(f"{top.name} has more than {_PLACES:,} files", "give the directory of the skills")
                mode = path.lstat().st_mode
                inside = path.relative_to(top).as_posix()
                if stat.S_ISDIR(mode):
                    folders.append(path)
                    continue
                problem = InvalidError(f"{inside} is a link or not a file", "replace it with a copy of its target")
                if os.path.isfile(path / FILE_NAME):  # a link to a skill
                    inside = f"{inside}/{FILE_NAME}"
                found[inside] = path if stat.S_ISREG(mode) else problem
        except OSError as error:  # it may be a skill, or part of one
            place = folder.relative_to(top)
            found[(place / FILE_NAME).as_posix()] = InvalidError(
                f"{place} can't be read ({error.strerror})", "leave it out"
            )
    return found


# -- A new SKILL.md, filled with an example, and the name it may have


def check_name(name: str) -> str:
    """Return the name as it is compared (NFKC), if it may be a skill's (agentskills.io)."""
    folded = unicodedata.normalize("NFKC", name)
    if wrong := wrong_name(folded):
        raise InvalidError(f"{name!r} can't be a skill's name ({wrong})", f"%skills new {near(name)}")
    return folded


def scaffold(name: str, description: str = "") -> str:
    """Return the text of a new skill that can be used as it is, to be edited."""
    title = name.replace("-", " ").capitalize()
    default = f"{title}: what it does in a few words. Use it when the user asks for that."
    return f"""---
name: {name if yaml.safe_load(name) == name else f'"{name}"'}
description: {quoted(one_line(description, DESCRIPTION) or default[:DESCRIPTION])}
# license: MIT
# compatibility: needs pandas
# allowed-tools: inspect_variable read_file
# metadata:
#   author: you
---

# {title}

The agent reads this text only when a request needs it; until then it sees only the description.

## Steps

1. Look at the data first: `inspect_variable` gives columns, types and missing values.
2. Do one thing at a time, and say what each step found.
3. End with one sentence that answers the question, and name what you are not sure of.

## An example

Asked "which city grew most?", the answer is: "Lagos, by 3.2 million people; 2 of 40 rows had no figure."
"""
