"""A directory on disk as a backend, whose operations never leave it, follow no link and write at once."""

import base64
import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from deepagents.backends import protocol, utils

from deepnb.backends.tree import DEPTH, LOCK, Names, Refused, Tree, is_control, names, unfit
from deepnb.backends.versions import FileVersions
from deepnb.engine.file_extras import SkippedEntries, SkipReason
from deepnb.engine.files import is_text

GLOB_SECONDS = 5.0
GREP_SECONDS = float(protocol.DEFAULT_GREP_TIMEOUT)
"""The bounds of upstream's backend: past them a search gives what it has, and says it is cut."""

_SEARCHED = 10 * 1024 * 1024
"""Bytes of the largest file that is searched, as of upstream's backend."""

_INVALID = (errno.EINVAL, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EEXIST)
_CODES = {errno.ENOENT: protocol.FILE_NOT_FOUND, errno.EISDIR: protocol.IS_DIRECTORY}
_CODES |= dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), protocol.PERMISSION_DENIED)
_CODES |= dict.fromkeys(_INVALID, protocol.INVALID_PATH)
_FAILED = (OSError, UnicodeError)


class DiskBackend(protocol.BackendProtocol):
    """Files below `root` under virtual paths: /a/b.md is root/a/b.md.

    Links are not listed and not followed; neither are pipes, devices and names that could mean two files. A missing root
    reads as empty, and the first write makes it. It is no subclass of upstream's, of which no method would be left: those
    follow links inside the root, write in place, change line ends, put paths of this machine into errors, search what
    .gitignore leaves where there is a ripgrep, and all files beside one where there is none.
    """

    def __init__(self, root: str | os.PathLike[str], *, private: bool = False) -> None:
        self.tree = Tree(root, private=private)
        self._versions: dict[str, FileVersions] = {}

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        """Return a window of lines; the whole in base64 for names that end as those of pictures and films do."""
        try:
            data = self.tree.read(_file(file_path))
            if not is_text(file_path):
                whole = protocol.FileData(content=base64.b64encode(data).decode(), encoding="base64")
                return protocol.ReadResult(file_data=whole)
            return utils.slice_read_response(protocol.FileData(content=data.decode(), encoding="utf-8"), offset, limit)
        except _FAILED as error:
            return protocol.ReadResult(error=_message("reading file", file_path, error, missing="File {} not found"))

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        try:
            self.tree.write(_file(file_path), content.encode())
        except _FAILED as error:
            return protocol.WriteResult(error=_message("writing file", file_path, error))
        return protocol.WriteResult(path=file_path)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of the file, which is not rewritten: all of it, or nothing; return the error, if any."""
        try:
            at, left = _file(path), text.encode()
            fd = self.tree.open(at, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            with os.fdopen(fd, "r+b", buffering=0) as file:
                size = os.fstat(fd).st_size
                try:
                    while left:
                        left = left[file.write(left) :]
                except OSError:
                    file.truncate(size)
                    raise
        except _FAILED as error:
            return _message("writing file", path, error)
        return None

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        try:
            at = _file(file_path)
            result = replace_text(self.tree.read(at).decode(), old_string, new_string, replace_all)
            if isinstance(result, str):
                return protocol.EditResult(error=result)
            self.tree.write(at, result[0].encode())
        except _FAILED as error:
            why = _message("editing file", file_path, error, missing="Error: File {} not found")
            return protocol.EditResult(error=why)
        return protocol.EditResult(path=file_path, occurrences=result[1])

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file, or a directory with all in it; part of it may be gone if that fails midway."""
        try:
            if (at := names(file_path, folder=True)) in (LOCK, LOCK[:1]):
                raise Refused("deepnb keeps its records there")
            if not at:
                raise Refused("it is the mounted directory itself")
            if stat.S_ISDIR(self.tree.look(at).st_mode):
                shutil.rmtree(self.tree.path(at))  # of links the links alone
            elif file_path.endswith("/"):
                raise Refused("the path of a file does not end in /")
            else:
                os.unlink(self.tree.path(at))
        except OSError as error:
            return protocol.DeleteResult(error=_message("deleting", file_path, error, missing="Error: {} not found"))
        return protocol.DeleteResult(path=file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        tried = ((path, _try(self.tree.write, path, data)) for path, data in files)
        return [protocol.FileUploadResponse(path=path, error=error) for path, (_, error) in tried]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        tried = ((path, _try(self.tree.read, path)) for path in paths)
        return [protocol.FileDownloadResponse(path=path, content=data, error=error) for path, (data, error) in tried]

    def ls(self, path: str) -> protocol.LsResult:
        """Return what is directly in a directory, by path; directories end in /. A missing one is empty, as in a state or a store."""
        try:
            at = names(path, folder=True)
            infos = [_info((*at, name), info) for name, info in self.tree.entries(at) if (*at, name) != LOCK]
        except FileNotFoundError:
            infos = []
        except NotADirectoryError:
            return protocol.LsResult(error=f"Path '{_printable(path)}': not_a_directory")
        except OSError as error:
            return protocol.LsResult(error=f"Cannot list '{_printable(path)}': {_why(error)}")
        return protocol.LsResult(entries=sorted(infos, key=itemgetter("path")))

    def file_versions(self, directory: str) -> dict[str, Any] | None:
        """Return the stamps of the files below a directory, as `FileVersions.read` gives them."""
        return self._versions.setdefault(directory, FileVersions(self.tree, directory)).read()

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return the links in a directory, which are not listed, and the directories in it whose file is not to be read."""
        found: SkippedEntries = {}
        with suppress(OSError):
            base = Path(self.tree.folder(names(directory, folder=True)))
            for entry in base.iterdir():
                with suppress(OSError):
                    if not unfit(entry.name) and (why := _skip(base, entry, entry / name, most)):
                        found[entry.name] = why
        return found

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Return files below `path` that match, by path; cut after some seconds, and if a directory can't be read."""
        path = "/" if path is None else path
        matches: list[protocol.FileInfo] = []
        reason: protocol.GlobTruncationReason | None = None
        try:
            for at, info in self._search(path, pattern, GLOB_SECONDS, alone=False):
                if info is None:
                    reason = "unreadable"
                else:
                    matches.append(_info(at, info))
        except TimeoutError:
            reason = reason or "budget"
        except utils.InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        except OSError as error:
            return protocol.GlobResult(error=_message("globbing path", path, error), matches=[])
        matches.sort(key=itemgetter("path"))
        return protocol.GlobResult(matches=matches, truncated=reason is not None, truncation_reason=reason)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        """Return lines that have the literal text in them, by path. Files over 10 MB and those with NULs are left out."""
        path = "/" if path is None else path
        matches: list[protocol.GrepMatch] = []
        unread: list[str] = []
        late = False
        try:
            for at, info in self._search(path, glob or None, GREP_SECONDS, alone=True):
                if info is None:
                    unread.append(_path(at))
                elif info.st_size <= _SEARCHED:
                    try:
                        data = self.tree.read(at)
                    except FileNotFoundError:
                        continue
                    except OSError as error:
                        unread.append(f"{_path(at)}: {_why(error)}")
                        continue
                    lines = [] if b"\0" in data[:8192] else data.decode(errors="replace").split("\n")
                    found = ((n, line.removesuffix("\r")) for n, line in enumerate(lines, 1) if pattern in line)
                    matches += [protocol.GrepMatch(path=_path(at), line=n, text=line) for n, line in found]
                if max_count is not None and len(matches) > max_count:
                    break
        except TimeoutError:
            late = True
        except utils.InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        except OSError as error:
            return protocol.GrepResult(error=_message("searching path", path, error), matches=[])
        matches.sort(key=itemgetter("path"))
        cut = late or (max_count is not None and len(matches) > max_count)
        problem = "One or more files could not be fully searched: " + "; ".join(sorted(unread)) if unread else None
        return protocol.GrepResult(error=problem, matches=matches[:max_count], truncated=cut)

    def _search(
        self, path: str, pattern: str | None, seconds: float, *, alone: bool
    ) -> Iterator[tuple[Names, os.stat_result | None]]:
        """Yield the files below a path that fit a glob, `alone` also the file that it is. A directory that can't be
        read comes with None for what it is. After some seconds TimeoutError is raised."""
        end = time.monotonic() + seconds
        fits = utils.compile_grep_include_glob(pattern) if pattern is not None else None
        at = names(path, folder=True)
        try:
            info = self.tree.look(at)
        except (FileNotFoundError, NotADirectoryError):
            return
        folder = stat.S_ISDIR(info.st_mode)
        base = len(at) if folder else len(at) - 1
        todo = [(at, info)] if folder or alone else []
        while todo:
            if time.monotonic() > end:
                raise TimeoutError
            one, info = todo.pop()
            if stat.S_ISDIR(info.st_mode):
                try:
                    if len(one) > DEPTH:
                        raise Refused
                    listed = [((*one, name), info) for name, info in self.tree.entries(one)]
                    todo += (found for found in listed if stat.S_ISDIR(found[1].st_mode))
                    todo += (found for found in listed[::-1] if not stat.S_ISDIR(found[1].st_mode))  # comes first
                except FileNotFoundError:
                    continue
                except OSError:
                    yield one, None
            elif one != LOCK and (fits is None or fits("/".join(one[base:]))):
                yield one, info


def _skip(base: Path, entry: Path, file: Path, most: int) -> tuple[SkipReason, str | int] | None:
    """Return why an entry of `base` is not to be read, as `deepnb.engine.file_extras` says; None for one that is."""
    if entry.is_symlink():
        to = Path(os.path.realpath(entry))
        if to.is_file():
            return None
        inside = to != base and to.is_relative_to(base) and to.exists()
        return ("link", to.relative_to(base).as_posix()) if inside else ("link out", "")
    if not entry.is_dir():
        return None
    if file.is_symlink() and unfit(os.readlink(file)):
        return "file link", ""
    size = file.stat().st_size
    return ("large", size) if size > most else None


def _file(path: str) -> Names:
    if (at := names(path)) == LOCK:
        raise Refused("deepnb keeps its records there")
    return at


def _path(at: Names) -> str:
    return "/" + "/".join(at)


def _info(at: Names, info: os.stat_result) -> protocol.FileInfo:
    folder = stat.S_ISDIR(info.st_mode)
    path, size = _path(at) + ("/" if folder else ""), 0 if folder else info.st_size
    changed = datetime.fromtimestamp(info.st_mtime, UTC).isoformat()
    return protocol.FileInfo(path=path, is_dir=folder, size=size, modified_at=changed)


def replace_text(text: str, old: str, new: str, everywhere: bool) -> tuple[str, int] | str:
    """Return the text with the replacement made, whose lines end as they did, and how often; or what is wrong with it."""
    return utils.perform_string_replacement(text, *as_it_stands(text, old, new), everywhere)


_END = re.compile(r"\r\n?|\n")


def as_it_stands(text: str, old: str, new: str) -> tuple[str, str]:
    """Return what is to be replaced, and by what, with the ends that lines have there: who reads the file is shown \\n for all."""
    if "\r" not in text:
        return old, new
    found = re.search(r"(?:\r\n?|\n)".join(map(re.escape, _END.split(old))), text)
    there = found[0] if found else old
    end = _END.search(there) or _END.search(text)
    return there, _END.sub(end[0], new) if found and end else new


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return error.strerror or type(error).__name__


def _message(doing: str, path: str, error: OSError | UnicodeError, *, missing: str = "") -> str:
    """Return the message of an error; `missing` is that of a file that is not there, where there is one of its own."""
    if missing and isinstance(error, FileNotFoundError | IsADirectoryError):
        return missing.format(f"'{_printable(path)}'")
    return f"Error {doing} '{_printable(path)}': {_why(error)}"


def _try(use: Callable[..., Any], path: str, *more: bytes) -> tuple[Any, str | None]:
    try:
        return use(_file(path), *more), None
    except OSError as error:
        return None, _CODES.get(error.errno or 0) or _why(error)


def _printable(path: str) -> str:
    line = "".join("?" if is_control(c) else c for c in path)
    return line if len(line) <= 200 else f"{line[:200]}..."
