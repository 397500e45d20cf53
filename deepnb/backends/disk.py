"""A directory on disk as a deepagents backend whose operations never leave it."""

import base64
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from deepagents.backends import protocol
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
    perform_string_replacement,
    slice_read_response,
)

from deepnb.backends.directory import skipped_entries, stamps
from deepnb.backends.tree import LOCK, Names, Refused, Tree, is_control, names
from deepnb.core.merge import all_crlf
from deepnb.engine.file_extras import SkippedEntries

GLOB_SECONDS = 5.0
GREP_SECONDS = float(protocol.DEFAULT_GREP_TIMEOUT)
GREP_BYTES = 10 * 1024 * 1024
"""The bounds of upstream's FilesystemBackend: past them a search gives what it has, and says it is cut."""
NOT_TEXT = re.compile(
    r"\.(png|jpe?g|webp|gif|hei[cf]|mp4|mpe?g|mov|avi|flv|mpg|webm|wmv|3gpp|mkv|mp3|wav|aiff|aac|ogg|flac|pdf|pptx?)$",
    re.IGNORECASE,
)
"""Names that end so are read as bytes; the table of upstream's backends."""

_CODES = {
    errno.ENOENT: protocol.FILE_NOT_FOUND,
    errno.EISDIR: protocol.IS_DIRECTORY,
    errno.EACCES: protocol.PERMISSION_DENIED,
    errno.EPERM: protocol.PERMISSION_DENIED,
    errno.EROFS: protocol.PERMISSION_DENIED,
    **dict.fromkeys(
        (errno.EINVAL, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EEXIST), protocol.INVALID_PATH
    ),
}


class DiskBackend(protocol.BackendProtocol):
    """Files below `root` under virtual paths: /a/b.md is root/a/b.md.

    Links are not listed and not followed, wherever they point; neither are pipes, devices and names
    that could mean two files. Writes are atomic. A missing root reads as empty, and the first write
    makes it. Deleting "/" is refused. An edit takes the \\n it is given for \\r\\n in a file whose
    lines all end so. The async methods are those of the protocol: these in a thread.
    """

    def __init__(self, root: str | os.PathLike[str], *, durable: bool = False, private: bool = False) -> None:
        self.tree = Tree(root, durable=durable, private=private)

    def __repr__(self) -> str:
        return f"DiskBackend({str(self.tree.root)!r})"

    # -- one file

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        """A window of lines; the whole in base64 for names that end as those of pictures and films do."""
        try:
            data = self.tree.read(_file(file_path))
            if NOT_TEXT.search(file_path):
                return protocol.ReadResult(
                    file_data=protocol.FileData(content=base64.b64encode(data).decode(), encoding="base64")
                )
            return slice_read_response(protocol.FileData(content=data.decode(), encoding="utf-8"), offset, limit)
        except (FileNotFoundError, IsADirectoryError):
            return protocol.ReadResult(error=f"File '{_printable(file_path)}' not found")
        except (OSError, UnicodeDecodeError) as error:
            return protocol.ReadResult(error=f"Error reading file '{_printable(file_path)}': {_why(error)}")

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        """Make `content` the file, as UTF-8 and with its line ends as they are."""
        try:
            self.tree.write(_file(file_path), content.encode())
        except (OSError, UnicodeEncodeError) as error:
            return protocol.WriteResult(error=f"Error writing file '{_printable(file_path)}': {_why(error)}")
        return protocol.WriteResult(path=file_path)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of the file, which is not rewritten; gives the error, if any."""
        try:
            self.tree.append(_file(path), text.encode())
        except (OSError, UnicodeEncodeError) as error:
            return f"Error writing file '{_printable(path)}': {_why(error)}"
        return None

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        """Replace a text that occurs once, or everywhere with `replace_all`."""
        try:
            at = _file(file_path)
            text = self.tree.read(at).decode()
            result = replace_text(text, old_string, new_string, replace_all)
            if isinstance(result, str):
                return protocol.EditResult(error=result)
            self.tree.write(at, result[0].encode())
        except (FileNotFoundError, IsADirectoryError):
            return protocol.EditResult(error=f"Error: File '{_printable(file_path)}' not found")
        except (OSError, UnicodeError) as error:
            return protocol.EditResult(error=f"Error editing file '{_printable(file_path)}': {_why(error)}")
        return protocol.EditResult(path=file_path, occurrences=result[1])

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file, or a directory with all in it; part of it may be gone where that fails midway."""
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
        return [protocol.FileUploadResponse(path=path, error=self._upload(path, data)) for path, data in files]

    def _upload(self, path: str, data: bytes) -> str | None:
        try:
            self.tree.write(_file(path), data)
        except OSError as error:
            return _code(error)
        return None

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """The bytes as they are; each file has its own error."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> protocol.FileDownloadResponse:
        try:
            return protocol.FileDownloadResponse(path=path, content=self.tree.read(_file(path)))
        except OSError as error:
            return protocol.FileDownloadResponse(path=path, error=_code(error))

    # -- many files

    def ls(self, path: str) -> protocol.LsResult:
        """What is directly in a directory, by path; directories end in /. A missing one is empty.

        Upstream's backend has an error for a missing one, its state and store have not; a directory of
        skills that is not there yet is no reason for a warning each turn.
        """
        try:
            at = names(path, folder=True)
            found = self.tree.entries(at)
        except FileNotFoundError:
            return protocol.LsResult(entries=[])
        except NotADirectoryError:
            return protocol.LsResult(error=f"Path '{_printable(path)}': not_a_directory")
        except OSError as error:
            return protocol.LsResult(error=f"Cannot list '{_printable(path)}': {_why(error)}")
        infos = [_info((*at, name), info) for name, info in found if (*at, name) != LOCK]
        return protocol.LsResult(entries=sorted(infos, key=lambda i: i["path"]))

    def folder_version(self, directory: str, name: str) -> Any:
        """What is equal as long as the directory's files, and `name` in each directory in it, have not changed."""
        try:
            with self.tree.folder(names(directory, folder=True)) as folder:
                return stamps(folder, name, time.time_ns())
        except FileNotFoundError:
            return ()
        except OSError:
            return None

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """The links in a directory, which are not listed, and the directories in it whose file is not to be read."""
        try:
            at = names(directory, folder=True)
            with self.tree.folder(at):  # no link leads there
                return skipped_entries(self.tree.root.joinpath(*at), name, most)
        except OSError:
            return {}

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Files below `path` that match, by path; cut after some seconds, and where a directory can't be read."""
        path = "/" if path is None else path
        try:
            fits = compile_grep_include_glob(pattern)
            at = names(path, folder=True)
            if not self._is_folder(at):
                return protocol.GlobResult(matches=[])
        except InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        except OSError as error:
            return protocol.GlobResult(error=f"Error globbing path '{_printable(path)}': {_why(error)}", matches=[])
        matches, unreadable, late = [], False, False
        end = time.monotonic() + GLOB_SECONDS
        for found, info in self.tree.walk(at):
            if late := time.monotonic() > end:
                break
            if info is None:
                unreadable = True
            elif stat.S_ISREG(info.st_mode) and found != LOCK and fits("/".join(found[len(at) :])):
                matches.append(_info(found, info))
        matches.sort(key=lambda m: m["path"])
        reason: protocol.GlobTruncationReason | None = "unreadable" if unreadable else "budget" if late else None
        return protocol.GlobResult(matches=matches, truncated=late or unreadable, truncation_reason=reason)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        """Lines that have the literal text in them, by path. Files over 10 MB and those with NULs are left out."""
        path = "/" if path is None else path
        try:
            fits = compile_grep_include_glob(glob) if glob else None
            at = names(path, folder=True)
            found = self.tree.look(at) if self.tree.exists() else None
        except InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        except (FileNotFoundError, NotADirectoryError):
            found = None
        except OSError as error:
            return protocol.GrepResult(error=f"Error searching path '{_printable(path)}': {_why(error)}", matches=[])
        if found is None:
            return protocol.GrepResult(matches=[])
        base = at if stat.S_ISDIR(found.st_mode) else at[:-1]
        walked = self.tree.walk(at) if stat.S_ISDIR(found.st_mode) else iter([(at, found)])
        searched = (
            (names_, info)
            for names_, info in walked
            if fits is None or info is None or stat.S_ISDIR(info.st_mode) or fits("/".join(names_[len(base) :]))
        )
        return self._grep(pattern, searched, max_count)

    def _grep(
        self, pattern: str, walked: Iterator[tuple[Names, os.stat_result | None]], most: int | None
    ) -> protocol.GrepResult:
        matches: list[protocol.GrepMatch] = []
        unread: list[str] = []
        end, late = time.monotonic() + GREP_SECONDS, False
        for at, info in walked:
            if late := time.monotonic() > end:
                break
            if info is None:
                unread.append(_path(at))
            elif stat.S_ISREG(info.st_mode) and info.st_size <= GREP_BYTES and at != LOCK:
                try:
                    matches += _lines(_path(at), self.tree.read(at), pattern)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    unread.append(f"{_path(at)}: {_why(error)}")
            if most is not None and len(matches) > most:
                late = True
                break
        matches.sort(key=lambda m: m["path"])
        return protocol.GrepResult(
            error="One or more files could not be fully searched: " + "; ".join(sorted(unread)) if unread else None,
            matches=matches if most is None else matches[:most],
            truncated=late,
        )

    def _is_folder(self, at: Names) -> bool:
        try:
            return self.tree.exists() and stat.S_ISDIR(self.tree.look(at).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False


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
    """The text with the replacement made, whose lines end as they did, and how often; or what is wrong with it."""
    if not all_crlf(text):
        return perform_string_replacement(text, old, new, everywhere)
    text, old, new = (t.replace("\r\n", "\n") for t in (text, old, new))
    result = perform_string_replacement(text, old, new, everywhere)
    return result if isinstance(result, str) else (result[0].replace("\n", "\r\n"), result[1])


def _why(error: OSError | UnicodeError) -> str:
    """What went wrong in one line, without a path of this machine."""
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return error.strerror or type(error).__name__


def _code(error: OSError) -> str:
    return _CODES.get(error.errno or 0) or _why(error)


def _printable(path: str) -> str:
    """A path as it is put in a message: one line, not too long."""
    line = "".join("?" if is_control(c) else c for c in path)
    return line if len(line) <= 200 else f"{line[:200]}..."
