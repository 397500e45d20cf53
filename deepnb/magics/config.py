"""`%config DeepNB`: the settings of the loaded extension."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from traitlets import Bool, Dict, Enum, Float, Int, TraitError, TraitType, Unicode, Union, validate
from traitlets.config import Configurable

from deepnb.values.errors import DeepnbError

# Settings that are fields of the agent's options, by the name they have there.
OPTIONS = {
    **{name: name for name in ("memory_refresh", "max_steps", "max_cost", "max_subagent_depth", "approve", "prices")},
    "window": "max_input_tokens",
    "tools": "tool_text",
    "embedder": "embeddings",
}


_SIZES = ("fraction", "tokens", "messages")


class ContextSize(TraitType[Any, Any]):
    """A size of context: 0.85 is that part of the window, 50_000 so many tokens; or ("messages", 20)."""

    info_text = 'a fraction of the window up to 1, a whole number of tokens, or ("messages", N)'

    def validate(self, obj: Any, value: Any) -> Any:
        number = value
        if isinstance(value, tuple | list) and len(value) == 2 and value[0] in _SIZES:
            kind, number = value
            if kind == "messages":
                value = ("messages", number)
            else:
                value = float(number) if kind == "fraction" and isinstance(number, int) else number
        good = isinstance(number, int) or (isinstance(number, float) and number <= 1)
        if not good or isinstance(number, bool) or number <= 0:
            self.error(obj, value)
        return value


def _size(value: Any) -> Any:
    if value is None or isinstance(value, tuple):
        return value
    return ("fraction", float(value)) if value <= 1 else ("tokens", value)


def _setting(size: Any, default: Any) -> Any:
    if size is None:
        return default
    return size if size[0] == "messages" else size[1]


class DeepNB(Configurable):
    """Settings of deepnb."""

    model = Unicode("offline", help="The model for new turns: a name, or a variable that holds a chat model.")
    window = Int(None, allow_none=True, min=1, help="The context window in tokens; None: what the model declares.")
    trigger = ContextSize(
        0.85,
        help='When the context is compacted: at a fraction of the window, at a number of tokens, or at ("messages", N).',
    )
    keep = ContextSize(
        None,
        allow_none=True,
        help="How much of the thread a compaction keeps, in the same forms; None: 0.1 of the window, or 6 messages.",
    )
    memory_refresh = Enum(
        ("delta", "call", "thread"),
        "delta",
        help="How changed memory reaches the prompt: delta (as a diff, once), call (re-read before every call), thread (never).",
    )
    rerun = Enum(
        ("continue", "replace"),
        "continue",
        help="Running a cell again: continue the thread, or replace the cell's earlier turn and all later ones.",
    )
    approve = Union(
        [Unicode(), Dict()],
        default_value="outside",
        help="Which tool calls need approval: outside (those that can't be undone), writes (those that change anything),"
        ' read-only (those that change anything are denied), or rules such as {"write_file": "ask", "my_tool": "allow"}.',
    )
    stop_at_approval = Bool(True, help="Whether a cell that needs approval stops Run All, ending in a one-line error.")
    stream_hz = Float(15.0, min=0.5, max=60.0, help="How many times a second a streaming answer is updated.")
    max_steps = Int(50, min=1, help="The most model calls in one turn.")
    max_cost = Float(None, allow_none=True, min=0.0, help="The most US dollars a turn may cost, for models in prices.")
    max_subagent_depth = Int(3, min=1, help="How deep subagents may be nested: with 1, only the main agent delegates.")
    prices = Dict(
        help='Model -> US dollars per million tokens of (input, cached input, output): {"gpt-5.2": (A, B, C)}.'
    )
    tools = Enum(
        ("lean", "short", "full"),
        None,
        allow_none=True,
        help="Which tools are offered to the model, and how they are described: lean (seven, the others when it asks), short or"
        " full (all); None: lean under a window of 12,000 tokens, short under 32,000, full above it.",
    )
    embedder = Unicode(
        "",
        help='What search over memory takes for meaning beside words: "use" (offline, of the extra embed), or a variable'
        " that holds LangChain Embeddings; empty: words alone.",
    )
    offer_explain = Bool(
        None,
        allow_none=True,
        help="Whether an error of a cell is followed by a line that offers %agent explain and %agent fix; None: in a"
        " notebook, below the first error of each kind.",
    )
    clock = Unicode("", help="A fixed time (ISO 8601), so that a notebook prints the same everywhere.")

    def __init__(self, changed: Callable[[dict[str, Any]], None], **kwargs: Any) -> None:
        """`changed` is called with changes of the agent's options; a setting it refuses keeps its value."""
        super().__init__(**kwargs)
        self._changed = changed
        self._following = False
        self._followed: Any = None
        self.observe(self._tell, names=["model", "trigger", "keep", *OPTIONS])

    @validate("clock")
    def _valid_clock(self, proposal: Any) -> str:
        if proposal["value"]:
            try:
                datetime.fromisoformat(proposal["value"])
            except ValueError:
                raise TraitError("clock needs an ISO 8601 time, such as 2026-01-31T09:00:00+00:00") from None
        return str(proposal["value"])

    def options(self) -> dict[str, Any]:
        """Return the settings as changes of the agent's options."""
        found = {option: getattr(self, name) for name, option in OPTIONS.items()}
        return {**found, "model": self.model, "trigger": self._trigger(), "keep": _size(self.keep)}

    def follow(self, options: Any, model: str) -> None:
        """Take over what was changed elsewhere (`%agent use`, `session.configure`), telling nobody."""
        if options is self._followed and model == self.model:
            return
        with self._silently():
            self.model = model
            for name, option in OPTIONS.items():
                value = getattr(options, option)
                if name == "embedder":
                    self.embedder = value if isinstance(value, str) else ""
                elif name != "max_steps" or value is not None:
                    setattr(self, name, dict(value) if name == "prices" else value)
            self.trigger = _setting(options.trigger, 0.85)
            self.keep = _setting(options.keep, None)
        self._followed = options

    def follow_user(self, told: Callable[[str, Any], None]) -> None:
        """Call `told` with the name and value of a setting that the user has changed."""

        def changed(change: Any) -> None:
            if not self._following:
                told(change["name"], change["new"])

        self.observe(changed, names=list(self.trait_names(config=True)))

    def settle(self, config: Any) -> None:
        """Put the values in force into a shell's config: `%config` leaves refused ones there for the next load."""
        given = config.get(type(self).__name__, {})
        for name in given:
            if name in self.trait_names(config=True):
                given[name] = getattr(self, name)

    def time(self) -> datetime:
        """Return the time, which is fixed if one is set; without a zone that is UTC."""
        if not self.clock:
            return datetime.now().astimezone()
        at = datetime.fromisoformat(self.clock)
        return at if at.tzinfo else at.replace(tzinfo=UTC)

    def _trigger(self) -> Any:
        return None if self.trigger == 0.85 else _size(self.trigger)

    def _tell(self, change: Any) -> None:
        if self._following:
            return
        name, value = change["name"], change["new"]
        sizes = {"trigger": self._trigger(), "keep": _size(self.keep)}
        changes: dict[str, Any] = {OPTIONS.get(name, name): sizes.get(name, value)}
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


for _trait in DeepNB.class_own_traits().values():
    _trait.tag(config=True)
