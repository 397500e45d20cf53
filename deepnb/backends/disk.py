"""A directory on disk: upstream's backend of files, whose operations never leave it, follow no link and write at once."""

import base64
import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deepagents.backends import protocol
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
    perform_string_replacement,
    slice_read_response,
)

from deepnb.backends.merge import all_crlf
from deepnb.backends.tree import LOCK, Names, Refused, Tree, is_control, names
from deepnb.engine.file_extras import SkippedEntries
from deepnb.engine.files import ContainedBackend, is_text

GLOB_SECONDS = 5.0
GREP_SECONDS = float(protocol.DEFAULT_GREP_TIMEOUT)
"""The bounds of upstream's backend: past them a search gives what it has, and says it is cut."""

_CODES = {
    errno.ENOENT: protocol.FILE_NOT_FOUND,
    errno.EISDIR: protocol.IS_DIRECTORY,
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), protocol.PERMISSION_DENIED),
    **dict.fromkeys(
        (errno.EINVAL, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EEXIST), protocol.INVALID_PATH
    ),
}
_MISSING = (FileNotFoundError, IsADirectoryError)
_FAILED = (OSError, UnicodeError)


class DiskBackend(ContainedBackend):
    """Files below `root` under virtual paths: /a/b.md is root/a/b.md.

    Links are not listed and not followed, wherever they point; neither are pipes, devices and names
    that could mean two files. A missing root reads as empty, and the first write makes it. Deleting "/"
    is refused. An edit takes the \\n it is given for \\r\\n in a file whose lines all end so.

    Upstream's own methods follow links inside the root, write in place, change line ends, put paths of this
    machine into errors, search what .gitignore leaves where there is a ripgrep, and all files beside one where
    there is none. What is not overridden here goes through `find_path`.
    """

    def __init__(self, root: str | os.PathLike[str], *, private: bool = False) -> None:
        self.tree = Tree(root, private=private)
        super().__init__(self.tree.root, virtual_mode=True)

    def __repr__(self) -> str:
        return f"DiskBackend({str(self.tree.root)!r})"

    def find_path(self, path: str) -> Path:
        at = _file(path)
        with suppress(FileNotFoundError):
            self.tree.look(at)
        return self.tree.root.joinpath(*at)

    # -- one file

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        """Return a window of lines; the whole in base64 for names that end as those of pictures and films do."""
        try:
            data = self.tree.read(_file(file_path))
            if not is_text(file_path):
                return protocol.ReadResult(
                    file_data=protocol.FileData(content=base64.b64encode(data).decode(), encoding="base64")
                )
            return slice_read_response(protocol.FileData(content=data.decode(), encoding="utf-8"), offset, limit)
        except _MISSING:
            return protocol.ReadResult(error=f"File '{_printable(file_path)}' not found")
        except _FAILED as error:
            return protocol.ReadResult(error=f"Error reading file '{_printable(file_path)}': {_why(error)}")

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        """Make `content` the file, as UTF-8 and with its line ends as they are."""
        try:
            self.tree.write(_file(file_path), content.encode())
        except _FAILED as error:
            return protocol.WriteResult(error=f"Error writing file '{_printable(file_path)}': {_why(error)}")
        return protocol.WriteResult(path=file_path)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of the file, which is not rewritten; return the error, if any."""
        try:
            self.tree.append(_file(path), text.encode())
        except _FAILED as error:
            return f"Error writing file '{_printable(path)}': {_why(error)}"
        return None

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        """Replace a text that occurs once, or everywhere with `replace_all`."""
        try:
            at = _file(file_path)
            result = replace_text(self.tree.read(at).decode(), old_string, new_string, replace_all)
            if isinstance(result, str):
                return protocol.EditResult(error=result)
            self.tree.write(at, result[0].encode())
        except _MISSING:
            return protocol.EditResult(error=f"Error: File '{_printable(file_path)}' not found")
        except _FAILED as error:
            return protocol.EditResult(error=f"Error editing file '{_printable(file_path)}': {_why(error)}")
        return protocol.EditResult(path=file_path, occurrences=result[1])

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file, or a directory with all in it; part of it may be gone if that fails midway."""
        try:
            at = names(file_path, folder=True)
            if at in (LOCK, LOCK[:1]):
                raise Refused("deepnb keeps its records there")
            if at and file_path.endswith("/") and not stat.S_ISDIR(self.tree.look(at).st_mode):
                raise Refused("the path of a file does not end in /")
            self.tree.remove(at)
        except FileNotFoundError:
            return protocol.DeleteResult(error=f"Error: '{_printable(file_path)}' not found")
        except OSError as error:
            return protocol.DeleteResult(error=f"Error deleting '{_printable(file_path)}': {_why(error)}")
        return protocol.DeleteResult(path=file_path)

    # -- bytes, many files at once

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        """Write bytes as they are; each file has its own error."""
        done = []
        for path, data in files:
            try:
                self.tree.write(_file(path), data)
                done.append(protocol.FileUploadResponse(path=path))
            except OSError as error:
                done.append(protocol.FileUploadResponse(path=path, error=_code(error)))
        return done

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """Return the bytes as they are; each file has its own error."""
        done = []
        for path in paths:
            try:
                done.append(protocol.FileDownloadResponse(path=path, content=self.tree.read(_file(path))))
            except OSError as error:
                done.append(protocol.FileDownloadResponse(path=path, error=_code(error)))
        return done

    # -- many files

    def ls(self, path: str) -> protocol.LsResult:
        """Return what is directly in a directory, by path; directories end in /. A missing one is empty.

        Upstream's backend has an error for a missing one, its state and store have not; a directory of
        skills that is not there yet is no reason for a warning each turn.
        """
        try:
            at = names(path, folder=True)
            infos = [_info((*at, name), info) for name, info in self.tree.entries(at) if (*at, name) != LOCK]
        except FileNotFoundError:
            infos = []
        except NotADirectoryError:
            return protocol.LsResult(error=f"Path '{_printable(path)}': not_a_directory")
        except OSError as error:
            return protocol.LsResult(error=f"Cannot list '{_printable(path)}': {_why(error)}")
        return protocol.LsResult(entries=sorted(infos, key=lambda i: i["path"]))

    def folder_version(self, directory: str, name: str) -> Any:
        """Return what is equal as long as the directory's files, and `name` in each directory in it, have not changed."""
        try:
            return self.tree.stamps(names(directory, folder=True), name, time.time_ns())
        except FileNotFoundError:
            return ()
        except OSError:
            return None

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return the links in a directory, which are not listed, and the directories in it whose file is not to be read."""
        try:
            return self.tree.skipped(names(directory, folder=True), name, most)
        except OSError:
            return {}

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Return files below `path` that match, by path; cut after some seconds, and if a directory can't be read."""
        path = "/" if path is None else path
        matches, unreadable, late = [], False, False
        try:
            for found in self._search(path, pattern, GLOB_SECONDS, alone=False):
                if late := found is None:
                    break
                at, info = found
                unreadable = unreadable or info is None
                matches += [] if info is None else [_info(at, info)]
        except InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        except OSError as error:
            return protocol.GlobResult(error=f"Error globbing path '{_printable(path)}': {_why(error)}", matches=[])
        matches.sort(key=lambda m: m["path"])
        reason: protocol.GlobTruncationReason | None = "unreadable" if unreadable else "budget" if late else None
        return protocol.GlobResult(matches=matches, truncated=reason is not None, truncation_reason=reason)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        context_lines: int = 0,
    ) -> protocol.GrepResult:
        """Return lines that have the literal text in them, by path. Files over 10 MB and those with NULs are left out."""
        path = "/" if path is None else path
        matches: list[protocol.GrepMatch] = []
        unread: list[str] = []
        cut = False
        try:
            for found in self._search(path, glob or None, GREP_SECONDS, alone=True):
                if cut := found is None or (max_count is not None and len(matches) > max_count):
                    break
                at, info = found
                if info is None:
                    unread.append(_path(at))
                elif info.st_size <= self.max_file_size_bytes:
                    try:
                        matches += _lines(_path(at), self.tree.read(at), pattern)
                    except FileNotFoundError:
                        continue
                    except OSError as error:
                        unread.append(f"{_path(at)}: {_why(error)}")
        except InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        except OSError as error:
            return protocol.GrepResult(error=f"Error searching path '{_printable(path)}': {_why(error)}", matches=[])
        matches.sort(key=lambda m: m["path"])
        cut = cut or (max_count is not None and len(matches) > max_count)
        problem = "One or more files could not be fully searched: " + "; ".join(sorted(unread)) if unread else None
        if context_lines:
            self.add_context(matches[:max_count], context_lines, pattern)
        return protocol.GrepResult(error=problem, matches=matches[:max_count], truncated=cut)

    def _search(
        self, path: str, pattern: str | None, seconds: float, *, alone: bool
    ) -> Iterator[tuple[Names, os.stat_result | None] | None]:
        """Yield the files below a path that fit a glob, `alone` also the file that it is; None in the end if time is over.

        A directory that can't be read comes with None for what it is.
        """
        end = time.monotonic() + seconds
        fits = compile_grep_include_glob(pattern) if pattern is not None else None
        at = names(path, folder=True)
        try:
            found = self.tree.look(at)
        except (FileNotFoundError, NotADirectoryError):
            return
        folder = stat.S_ISDIR(found.st_mode)
        base = len(at) if folder else len(at) - 1
        for one, info in self.tree.walk(at) if folder else [(at, found)] if alone else ():
            if time.monotonic() > end:
                yield None
                return
            if info is None or (
                stat.S_ISREG(info.st_mode) and one != LOCK and (fits is None or fits("/".join(one[base:])))
            ):
                yield one, info


def _file(path: str) -> Names:
    at = names(path)
    if at == LOCK:
        raise Refused("deepnb keeps its records there")
    return at


def _path(at: Names) -> str:
    return "/" + "/".join(at)


def _info(at: Names, info: os.stat_result) -> protocol.FileInfo:
    folder = stat.S_ISDIR(info.st_mode)
    return protocol.FileInfo(
        path=_path(at) + ("/" if folder else ""),
        is_dir=folder,
        size=0 if folder else info.st_size,
        modified_at=datetime.fromtimestamp(info.st_mtime, UTC).isoformat(),
    )


def _lines(path: str, data: bytes, pattern: str) -> list[protocol.GrepMatch]:
    if b"\0" in data[:8192]:
        return []
    lines = data.decode(errors="replace").split("\n")
    return [
        protocol.GrepMatch(path=path, line=n, text=line.removesuffix("\r"))
        for n, line in enumerate(lines, 1)
        if pattern in line
    ]


def replace_text(text: str, old: str, new: str, everywhere: bool) -> tuple[str, int] | str:
    """Return the text with the replacement made, whose lines end as they did, and how often; or what is wrong with it."""
    if not all_crlf(text):
        return perform_string_replacement(text, old, new, everywhere)
    text, old, new = (t.replace("\r\n", "\n") for t in (text, old, new))
    result = perform_string_replacement(text, old, new, everywhere)
    return result if isinstance(result, str) else (result[0].replace("\n", "\r\n"), result[1])


def _why(error: OSError | UnicodeError) -> str:
    """Return what went wrong in one line, without a path of this machine."""
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return error.strerror or type(error).__name__


def _code(error: OSError) -> str:
    return _CODES.get(error.errno or 0) or _why(error)


def _printable(path: str) -> str:
    """Return a path as it is put in a message: one line, not too long."""
    line = "".join("?" if is_control(c) else c for c in path)
    return line if len(line) <= 200 else f"{line[:200]}..."
