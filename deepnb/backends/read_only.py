"""Files that can be read and not changed: those outside of the kernel, in a fork that leaves nothing behind."""

from deepagents.backends import protocol

WHY = "Error: nothing outside of the kernel is changed here"


class ReadOnlyFiles(protocol.BackendProtocol):
    """Another backend, read through; every change of it is an error."""

    def __init__(self, files: protocol.BackendProtocol) -> None:
        self.files = files

    def ls(self, path: str) -> protocol.LsResult:
        return self.files.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        return self.files.read(file_path, offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        return self.files.grep(pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        return self.files.glob(pattern, path or "/")

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return self.files.download_files(paths)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return protocol.WriteResult(error=WHY)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        return protocol.EditResult(error=WHY)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        return protocol.DeleteResult(error=WHY)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [protocol.FileUploadResponse(path=path, error="permission_denied") for path, _ in files]
