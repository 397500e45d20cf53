"""`%config DeepNB`: the settings of the loaded extension."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from traitlets import Dict, Enum, Float, Int, TraitError, Unicode, Union, validate
from traitlets.config import Configurable

from deepnb.core.errors import DeepnbError

# Settings that are fields of the agent's options, by the name they have there.
OPTIONS = {
    "window": "max_input_tokens",
    "memory_refresh": "memory_refresh",
    "max_steps": "max_steps",
    "max_subagent_depth": "max_subagent_depth",
    "approve": "approve",
    "prices": "prices",
}


class DeepNB(Configurable):
    """Settings of deepnb."""

    model = Unicode("offline", help="The model for new turns: a name, or a variable that holds a chat model.").tag(
        config=True
    )
    window = Int(
        None, allow_none=True, min=1, help="The context window in tokens; None: the window the model declares."
    ).tag(config=True)
    trigger = Float(0.85, min=0.01, max=1.0, help="The fraction of the window at which the context is compacted.").tag(
        config=True
    )
    memory_refresh = Enum(
        ("delta", "call", "thread"),
        "delta",
        help="How changed memory reaches the prompt: delta (as a diff, once), call (re-read before every call), thread (never).",
    ).tag(config=True)
    rerun = Enum(
        ("continue", "replace"),
        "continue",
        help="Running a cell again: continue the thread, or replace the cell's earlier turn and all later ones.",
    ).tag(config=True)
    approve = Union(
        [Unicode(), Dict()],
        default_value="outside",
        help="Which tool calls need approval: outside (those that can't be undone), writes (those that change anything),"
        ' read-only (those that change anything are denied), or rules such as {"write_file": "ask", "my_tool": "allow"}.',
    ).tag(config=True)
    stream_hz = Float(15.0, min=0.5, max=60.0, help="How many times a second a streaming answer is updated.").tag(
        config=True
    )
    max_steps = Int(50, min=1, help="The most model calls in one turn.").tag(config=True)
    max_subagent_depth = Int(
        3, min=1, help="How deep subagents may be nested: with 1, only the main agent can delegate tasks."
    ).tag(config=True)
    prices = Dict(
        help='Model -> US dollars per million tokens of (input, cached input, output): {"gpt-5.2": (A, B, C)}.'
    ).tag(config=True)
    clock = Unicode("", help="A fixed time (ISO 8601), so that a notebook prints the same everywhere.").tag(config=True)

    def __init__(self, changed: Callable[[dict[str, Any]], None], **kwargs: Any) -> None:
        """`changed` is called with changes of the agent's options; a setting it refuses keeps its value."""
        super().__init__(**kwargs)
        self._changed = changed
        self._following = False
        self.observe(self._tell, names=["model", "trigger", *OPTIONS])

    @validate("clock")
    def _valid_clock(self, proposal: Any) -> str:
        if proposal["value"]:
            try:
                datetime.fromisoformat(proposal["value"])
            except ValueError:
                raise TraitError("clock needs an ISO 8601 time, such as 2026-01-31T09:00:00+00:00") from None
        return str(proposal["value"])

    def options(self) -> dict[str, Any]:
        """The settings as changes of the agent's options."""
        found = {option: getattr(self, name) for name, option in OPTIONS.items()}
        return {**found, "model": self.model, "trigger": self._trigger()}

    def follow(self, options: Any, model: str) -> None:
        """Take over what was changed elsewhere (`%agent use`, `session.configure`), telling nobody."""
        with self._silently():
            self.model = model
            self.window = options.max_input_tokens
            self.memory_refresh = options.memory_refresh
            self.prices = dict(options.prices)
            self.approve = options.approve
            self.max_subagent_depth = options.max_subagent_depth
            if options.max_steps is not None:
                self.max_steps = options.max_steps
            if options.trigger is None or options.trigger[0] == "fraction":
                self.trigger = options.trigger[1] if options.trigger else 0.85

    def settle(self, config: Any) -> None:
        """Put the values in force into a shell's config: `%config` leaves refused ones there for the next load."""
        given = config.get(type(self).__name__, {})
        for name in given:
            if name in self.trait_names(config=True):
                given[name] = getattr(self, name)

    def time(self) -> datetime | None:
        """The fixed time, if one is set; without a zone it is UTC."""
        from datetime import UTC

        if not self.clock:
            return None
        at = datetime.fromisoformat(self.clock)
        return at if at.tzinfo else at.replace(tzinfo=UTC)

    def _trigger(self) -> Any:
        return None if self.trigger == 0.85 else ("fraction", self.trigger)

    def _tell(self, change: Any) -> None:
        if self._following:
            return
        name, value = change["name"], change["new"]
        changes: dict[str, Any] = {OPTIONS.get(name, name): self._trigger() if name == "trigger" else value}
        if name == "model":
            changes["base_url"] = None
        try:
            self._changed(changes)
        except DeepnbError as error:
            with self._silently():
                setattr(self, name, change["old"])
            raise TraitError(error.typed) from None

    @contextmanager
    def _silently(self) -> Iterator[None]:
        self._following = True
        try:
            yield
        finally:
            self._following = False
