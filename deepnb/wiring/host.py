"""What a graph asks of the place it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deepnb.backends.guarded import GuardedBackend
from deepnb.memory.scope import Scope
from deepnb.memory.searching import MemorySearch
from deepnb.values.approvals import Policy
from deepnb.values.turn import CodeOutput
from deepnb.workshop.kernel import Kernel
from deepnb.workshop.python import Names

if TYPE_CHECKING:
    from deepnb.engine.state_backend import Taken
    from deepnb.models.tapes.recorder import Recording


class Program(Protocol):
    """What the layers of an agent ask of the program they run in: a session, or a LangGraph server."""

    def now(self) -> str:
        """The time as an ISO timestamp in the user's time zone."""

    def search(self) -> MemorySearch:
        """The index over the memory of the main agent."""

    @property
    def kernel(self) -> Kernel | None:
        """What runs code of the agent; None where there is no namespace to run it in."""


class Host(Program, Protocol):
    """A session, where a graph runs in one. All but the first two are asked at each use."""

    @property
    def backend(self) -> GuardedBackend:
        """The backend that the host's tools write through."""

    @property
    def checkpointer(self) -> Any:
        """Where its threads are checkpointed."""

    @property
    def taken(self) -> Taken:
        """What was taken out of their states."""

    @property
    def takes(self) -> bool:
        """Whether messages and texts are taken out of them."""

    @property
    def recording(self) -> Recording | None:
        """What calls of models are recorded to; asked when a graph is made."""

    def sign(self, value: Any) -> str:
        """The signature of a question or an answer that is stored; empty where none is needed."""

    def scope(self) -> Scope:
        """What the main agent of the turn that plays may know of memory."""

    def policy(self) -> Policy:
        """Which calls need approval."""

    def put_out(self, output: CodeOutput) -> None:
        """Show an output of code while it runs."""

    def ran(self, names: Names) -> None:
        """Keep what undo needs to give names their values again."""

    def undoable(self, path: str) -> bool:
        """Whether what is done to a file or directory can be undone."""
