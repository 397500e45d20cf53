"""Upstream's StateBackend, readable and writable outside a run as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from deepagents.backends import StateBackend
from deepagents.graph import DeepAgentState
from deepagents.middleware.filesystem import FilesystemState


class KernelState(DeepAgentState, FilesystemState):
    """The state of an agent whose files live in the kernel, whether or not it has file tools."""


class Outside(Protocol):
    """Where files are read and written while no run is going on."""

    def read(self) -> Mapping[str, Any]:
        """path -> FileData."""

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the files; None deletes."""


class OpenStateBackend(StateBackend):
    """Inside a run it goes through the graph's channels, outside through `outside`."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside

    def _inside(self) -> bool:
        try:
            self._get_config()
        except RuntimeError:
            return False
        return True

    def _read_files(self) -> dict[str, Any]:
        return super()._read_files() if self._inside() else dict(self._outside.read())

    def _send_files_update(self, update: dict[str, Any]) -> None:
        if self._inside():
            super()._send_files_update(update)
        else:
            self._outside.write(update)
