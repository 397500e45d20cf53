"""Skills that are not the agent's yet: bundled ones, those of a directory, of a zip; read whole, checked, never unpacked.

Nothing is followed out of the place that was named: links, `..`, absolute names and drives are refused, and so
is what is too large or too many.
"""

import stat
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from deepnb.skills.frontmatter import Broken, Text, one_line, quoted, read
from deepnb.skills.rules import BYTES, DESCRIPTION, FILE_NAME, Checked, check
from deepnb.values.agent import near, normal, wrong_name
from deepnb.values.errors import InvalidError, LimitError, NotFoundError

FILES = 1_000
ALL_BYTES = 5 * BYTES
_LEFT_OUT = ("__pycache__", "__MACOSX")

BUNDLED = Path(__file__).parent / "bundled"
"""Skills that come with deepnb; none is the agent's, or costs a token, until it is added."""


@dataclass(frozen=True)
class Package:
    """One skill with its files: path inside its directory -> bytes."""

    directory: str
    files: Mapping[str, bytes]
    where: str
    """How its SKILL.md is named in what is said of it."""

    @property
    def checked(self) -> Checked:
        return check(self.files[FILE_NAME], f"{self.where}/{FILE_NAME}")


def bundled() -> dict[str, Package]:
    """Return name -> the skills that come with deepnb."""
    return {p.directory: p for p in packages(BUNDLED)}


def packages(path: Path) -> list[Package]:
    """Return the skills of a SKILL.md, a skill's directory, a directory of skills, or a zip of either."""
    if not path.exists():
        raise NotFoundError(
            f"there is no {path}", "%skills add NAME|DIR|ZIP takes a bundled skill, a directory or a zip"
        )
    if path.is_file() and path.name == FILE_NAME:
        path = path.absolute().parent
    if path.is_dir():
        return _split(dict(_from_directory(path.resolve())), path.resolve().name, str(path))
    if not zipfile.is_zipfile(path):
        raise InvalidError(
            f"{path.name} is neither a directory nor a zip", f"give the directory that contains {FILE_NAME}"
        )
    try:
        return _split(dict(_from_zip(path)), "", path.name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise InvalidError(f"{path.name} can't be read ({error})", "create the zip again, without a password") from None


def _split(files: dict[str, bytes], name: str, where: str) -> list[Package]:
    """Return one skill if a SKILL.md is on top, else one for each directory that holds one."""
    if FILE_NAME in files:
        name = name or normal(check(files[FILE_NAME], f"x/{FILE_NAME}").skill.name) or _given_name(files[FILE_NAME])
        return [Package(name, files, where if where.endswith(f"/{name}") or where == name else f"{where}/{name}")]
    tops = sorted({p.partition("/")[0] for p in files if p.count("/") == 1 and p.endswith(f"/{FILE_NAME}")})
    if not tops and len(one := {p.partition("/")[0] for p in files}) == 1:
        top = one.pop()
        inner = {p.partition("/")[2]: data for p, data in files.items() if "/" in p}
        if any(p.count("/") == 1 and p.endswith(f"/{FILE_NAME}") for p in inner):
            return _split(inner, "", f"{where}/{top}")
    if not tops:
        raise NotFoundError(
            f"{where} contains no {FILE_NAME}", f"a skill is a directory NAME with NAME/{FILE_NAME} in it"
        )
    return [
        Package(t, {p.partition("/")[2]: d for p, d in files.items() if p.startswith(f"{t}/")}, f"{where}/{t}")
        for t in tops
    ]


def _given_name(data: bytes) -> str:
    """Return the name a SKILL.md gives itself, where no directory says what it has to be."""
    try:
        value = read(data).fields.fields.get("name")
    except Broken:
        return "skill"
    return normal(value.text).replace("/", "-") if isinstance(value, Text) else "skill"


def _from_directory(top: Path) -> Iterator[tuple[str, bytes]]:
    count = total = 0
    folders = [top]
    while folders:
        for path in sorted(folders.pop(0).iterdir()):
            if path.name.startswith(".") or path.name in _LEFT_OUT:
                continue
            kind = path.lstat().st_mode
            inside = path.relative_to(top).as_posix()
            if stat.S_ISDIR(kind):
                folders.append(path)
                continue
            if not stat.S_ISREG(kind):
                raise InvalidError(f"{inside} is a link or not a file", "replace it with a copy of its target")
            count, total = count + 1, total + path.lstat().st_size
            _refuse_too_much(inside, count, path.lstat().st_size, total)
            yield inside, path.read_bytes()


def _from_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    count = total = 0
    seen: set[str] = set()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            inside = PurePosixPath(info.filename)
            if info.is_dir() or any((p.startswith(".") and p != "..") or p in _LEFT_OUT for p in inside.parts):
                continue
            strange = "\\" in info.filename or "\0" in info.orig_filename or ":" in inside.parts[0]
            if strange or inside.is_absolute() or ".." in inside.parts:
                raise InvalidError(
                    f"{info.filename!r} points outside {path.name}", "create the zip from one directory only"
                )
            if stat.S_ISLNK(info.external_attr >> 16):
                raise InvalidError(f"{inside} is a link", "replace it with a copy of its target")
            if inside.as_posix() in seen:
                raise InvalidError(f"{inside} is in {path.name} twice", "create the zip again")
            seen.add(inside.as_posix())
            count += 1
            _refuse_too_much(str(inside), count, info.file_size, total)
            with archive.open(info) as stream:
                data = stream.read(BYTES + 1)  # what it says of its size may be a lie
            total += len(data)
            _refuse_too_much(str(inside), count, len(data), total)
            yield inside.as_posix(), data


def _refuse_too_much(name: str, count: int, size: int, total: int) -> None:
    if size > BYTES:
        raise LimitError(f"{name} has more than {BYTES:,} bytes", "leave it out")
    if count > FILES or total > ALL_BYTES:
        raise LimitError(f"more than {FILES:,} files or {ALL_BYTES:,} bytes", "give the directory of one skill")


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
