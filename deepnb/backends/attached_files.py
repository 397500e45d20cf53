"""The files of a graph of somebody else's: deepnb leaves none of its own there, and writes none that nobody reads."""

from collections.abc import Callable

from deepagents.backends import StoreBackend, protocol
from langgraph.store.memory import InMemoryStore

from deepnb.backends.split import SplitBackend

Refusal = Callable[[str], str]
"""A path -> why a file there would be of no use to the graph, in one line; empty where it is of use."""

RECORDS = "/.deepnb/"
"""Where deepnb keeps what it notes of files: in this process, for these."""


class AttachedFiles(SplitBackend):
    """Its backend, with deepnb's records beside it in this process."""

    def __init__(self, files: protocol.BackendProtocol, refusal: Refusal) -> None:
        records = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("deepnb",))
        super().__init__(files, records, lambda path: path.startswith(RECORDS))
        self._refusal = refusal

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        if problem := self._problem(file_path):
            return protocol.WriteResult(error=problem)
        return super().write(file_path, content)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        if problem := self._problem(file_path):
            return protocol.EditResult(error=problem)
        return super().edit(file_path, old_string, new_string, replace_all)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [
            protocol.FileUploadResponse(path=path, error="permission_denied")
            if self._problem(path)
            else super(AttachedFiles, self).upload_files([(path, content)])[0]
            for path, content in files
        ]

    def _problem(self, path: str) -> str:
        return "" if path.startswith(RECORDS) else self._refusal(path)


class NoFiles(protocol.BackendProtocol):
    """The backend of a graph that has none: there is nothing to read, and nothing is written."""

    def ls(self, path: str) -> protocol.LsResult:
        return protocol.LsResult(entries=[])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        return protocol.ReadResult(error="file_not_found")

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        return protocol.GrepResult(matches=[])

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        return protocol.GlobResult(matches=[])

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return protocol.WriteResult(error="permission_denied")

    def delete(self, file_path: str) -> protocol.DeleteResult:
        return protocol.DeleteResult(error="file_not_found")

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return [protocol.FileDownloadResponse(path=path, error="file_not_found") for path in paths]

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [protocol.FileUploadResponse(path=path, error="permission_denied") for path, _ in files]
