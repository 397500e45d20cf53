"""Memory in the store of the graph that runs, all other files in the state of its thread: as a LangGraph server keeps them."""

import re
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from deepagents.backends import StateBackend, StoreBackend

from deepnb.backends.wrapper import SplitBackend, store_backend
from deepnb.backends.writer import guard_refusal, writer
from deepnb.engine.file_extras import append_text
from deepnb.engine.files import ExactStore

_SEEDING = threading.Lock()


class MemoryStoreBackend(SplitBackend):
    """Files at some paths are in the store, and outlast a thread; each assistant has its own, and each user that the server knows."""

    def __init__(self, stored: Sequence[str]) -> None:
        """`stored` are paths of files, and directories (ending in `/`)."""
        self._stored = tuple(f"{path.rstrip('/')}/" for path in stored)
        here, there = StateBackend(), StoreBackend(namespace=_files_of)
        super().__init__(here, there, lambda path: f"{path.rstrip('/')}/".startswith(self._stored))

    def undoable(self, path: str) -> bool:
        """Return whether a file or directory is in the state of the thread alone, which an earlier checkpoint has."""
        folder = f"{path.rstrip('/')}/"
        return not any(folder.startswith(one) or one.startswith(folder) for one in self._stored)

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, if the guard lets it pass; return the error, if any."""
        refusal = guard_refusal(path, "", typed or line, writer().heard)
        return refusal or append_text(self.owner(path), path, f"{line}\n")

    def memory(self) -> dict[str, Any]:
        """Return nothing: another agent's graph on a server has a memory of its own."""
        return {}

    def mark_read(self, texts: Mapping[str, str]) -> None:
        """Do nothing: an edit says which text it replaces."""

    def seed(self, files: Mapping[str, bytes], runtime: Any) -> None:
        """Put files into the store where they are missing, once in each namespace: what was changed or removed since stays so.

        Of two processes that begin in the same instant, between which a store can't decide, both write the same bytes.
        """
        space = _files_of(runtime)
        mark = (*space[:-1], "seed")
        if runtime.store.get(mark, "seed") is not None:
            return
        with _SEEDING:
            if runtime.store.get(mark, "seed") is not None:  # a run at the same time was first
                return
            there = store_backend(ExactStore(runtime.store), space)
            known = {found.path for found in there.download_files(list(files)) if found.content is not None}
            there.upload_files([(path, content) for path, content in files.items() if path not in known])
            runtime.store.put(mark, "seed", {"at": datetime.now(UTC).isoformat(), "files": sorted(files)})


def _files_of(runtime: Any) -> tuple[str, ...]:
    """Return the namespace of the files of an assistant, for the user where the server knows one."""
    server = getattr(runtime, "server_info", None)
    user = getattr(server, "user", None)
    return files_of(getattr(server, "assistant_id", None) or "agent", getattr(user, "identity", None) or "everyone")


def files_of(*names: str) -> tuple[str, ...]:
    """Return the namespace of the files of an assistant and a user; of an assistant alone, where those of its users begin."""
    return ("deepnb", *map(label, names), *(("files",) if len(names) == 2 else ()))


def label(name: str) -> str:
    """Return a name as part of a namespace, which takes few characters: others are written as their code."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda found: f"~{ord(found[0]):x}~", name)
