"""Memory, notes and skills that some threads have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnb.agent.storage import Storage


@dataclass(eq=False)
class Pool:
    """Those of the session, or those of one thread made with `--empty` and its forks."""

    name: str = ""
    """That of the thread that was made with it; empty for the session's own."""
    files: dict[str, Any] = field(default_factory=dict)
    """path -> FileData, as the last thread that ran or wrote left them."""
    storage: Storage | None = None
    """Where they are; made when it is first needed."""

    @property
    def kept(self) -> str | None:
        """The directory in which they are kept from now on; None for the kernel."""
        return self.storage.kept if self.storage else None
