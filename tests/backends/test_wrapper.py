"""The base of wrappers: it passes everything on, and what a subclass says of files holds of every method."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from deepagents.backends.protocol import BackendProtocol

from deepnb.backends.disk import DiskBackend
from deepnb.backends.wrapper import ReadOnlyFiles, WrapperBackend
from deepnb.engine.file_extras import EXTRAS
from tests.support.tables import every_row


def test_all_that_a_backend_can_do_is_passed_on():
    """A method that upstream adds, and that is not passed on, would say that it is not implemented."""
    theirs = vars(BackendProtocol).items()
    methods = {n for n, one in theirs if inspect.isfunction(one) and not inspect.iscoroutinefunction(one)} | {*EXTRAS}
    assert {"ls", "delete", "append_text"} <= methods
    assert {name for name in methods if not name.startswith("_")} <= vars(WrapperBackend).keys()


class Secretive(WrapperBackend):
    def read_refusal(self, path: str) -> str | None:
        return "Error: secret" if path.startswith("/secret") else None

    def write_refusal(self, path: str) -> str | None:
        return self.read_refusal(path)

    def shown(self, found: Sequence[Any]) -> list[Any]:
        return [one for one in found if not self.read_refusal(one["path"])]


CALLS: dict[str, Callable[[BackendProtocol, str], Any]] = {
    "read": lambda b, p: b.read(p).error,
    "download": lambda b, p: b.download_files([p, "/a.md"])[0].error,
    "write": lambda b, p: b.write(p, "x").error,
    "append": lambda b, p: b.append_text(p, "x"),  # type: ignore[attr-defined]
    "edit": lambda b, p: b.edit(p, "tea", "x").error,
    "delete": lambda b, p: b.delete(p).error,
    "upload": lambda b, p: b.upload_files([("/b.md", b"x"), (p, b"x")])[1].error,
}


@every_row("name", CALLS)
def test_what_is_refused_is_refused_by_every_method(tmp_path, name):
    disk = DiskBackend(tmp_path)
    disk.upload_files([("/secret/a.md", b"tea"), ("/a.md", b"tea")])
    told = {"read": "secret", "download": "file_not_found", "upload": "permission_denied"}.get(name, "Error: secret")
    assert CALLS[name](Secretive(disk), "/secret/a.md") == told
    assert disk.download_files(["/secret/a.md"])[0].content == b"tea"
    assert CALLS[name](Secretive(disk), "/a.md") is None
    changes = name not in ("read", "download")
    assert bool(CALLS[name](ReadOnlyFiles(disk), "/c.md" if changes else "/secret/a.md")) == changes
    assert not (tmp_path / "c.md").exists()


def test_what_is_not_shown_takes_no_place_in_a_search(tmp_path):
    disk = DiskBackend(tmp_path)
    disk.upload_files([(path, b"tea\ntea\n") for path in ("/a.md", "/secret/a.md", "/z.md")])
    backend = Secretive(disk)
    assert [one["path"] for one in backend.ls("/").entries or ()] == ["/a.md", "/z.md"]
    assert [one["path"] for one in backend.glob("*").matches or ()] == ["/a.md", "/z.md"]
    found = backend.grep("tea", max_count=3)
    assert ([one["path"] for one in found.matches or ()], found.truncated) == (["/a.md", "/a.md", "/z.md"], True)
    assert not backend.grep("tea", max_count=4).truncated
    assert len(backend.grep("tea").matches or ()) == 4
