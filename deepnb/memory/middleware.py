"""Puts the memory files into the system prompt; when they are read again is the refresh policy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse
from deepagents.middleware.filesystem import FilesystemState
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, PrivateStateAttr
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, SystemMessage

from deepnb.engine import keys
from deepnb.engine.coroutines import in_thread
from deepnb.engine.listen import tell_notice
from deepnb.engine.request import compacted, is_request, message_text, still_sent, tools_by_name
from deepnb.gate import credentials, reasons, redact
from deepnb.memory.budget import fitted, plain
from deepnb.memory.guarding import WRITES, Form, memory_block, update_text
from deepnb.memory.layers import layers, note_day
from deepnb.values.errors import InvalidError, RunError
from deepnb.values.files import file_diffs
from deepnb.values.lazy import Memo
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.request import MEMORY_OPEN

Refresh = Literal["thread", "call", "delta"]
"""`thread`: read once per thread. `call`: the block is written anew before every model call. `delta`: the block
stays byte for byte as it was, and each later change is added once, as a diff in the message stream."""


class MemoryState(FilesystemState):
    """What memory adds to the state: the texts as they are injected, credentials masked; neither output nor inherited."""

    memory_contents: Annotated[NotRequired[dict[str, str] | None], PrivateStateAttr]
    """path -> text as the block holds it; None asks for the block to be made anew."""
    memory_told: Annotated[NotRequired[dict[str, str] | None], PrivateStateAttr]
    """path -> text as the block and the updates after it tell it."""
    memory_base: Annotated[NotRequired[int], PrivateStateAttr]
    """How many messages had been compacted away when the block was made, or when what changed since was told anew."""
    memory_day: Annotated[NotRequired[str], PrivateStateAttr]
    """The day (YYYY-MM-DD) on which the turn began: it says whose daily notes are injected."""


class MemoryMiddleware(AgentMiddleware):
    """Memory of a thread, read once: before its first model call."""

    name = "MemoryMiddleware"
    state_schema = MemoryState

    def __init__(
        self,
        backend: BackendProtocol,
        sources: Sequence[str],
        budget: int,
        count: Callable[..., int],
        today: Callable[[], str],
        form: Form = "full",
    ) -> None:
        """`today` gives the day (YYYY-MM-DD) in the user's time zone; injected files take at most `budget` tokens.

        `count` gives the tokens of one or more texts.
        """
        super().__init__()
        self.sources = tuple(sources)
        self._backend = backend
        self._budget = budget
        self._count = count
        self._fitted = Memo(lambda contents: fitted(contents, list(contents), budget, count))
        self._today = today
        self._form: Form = form
        self._tools = Memo(tools_by_name)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return None if _loaded(state) else {**(self._load(state) or {}), keys.DAY: self._today()}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await in_thread(self.before_agent, state, runtime)

    def upcoming(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update of the state with which the next turn would begin; nothing is told, nor noted as seen."""
        return {} if _loaded(state) else self._changed(state, self._masked(state)) or {}

    def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        return handler(self._with_memory(request))

    async def awrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        return await handler(await in_thread(self._with_memory, request))

    def _load(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        paths = self._layers(state)
        now = texts(paths, self._backend.download_files(paths))
        if mark_read := getattr(self._backend, "mark_read", None):  # the guard: this is what the model has now seen
            mark_read(now)
        shown = {path: redact(text) for path, text in now.items()}
        told = state.get(keys.TOLD) or state.get(keys.MEMORY) or {}
        for path, text in shown.items():  # what is masked now, and was not when the model last saw it
            new = {*text.splitlines()} - {*now[path].splitlines(), *told.get(path, "").splitlines()}
            if text != now[path] and new:
                found = reasons(credentials(now[path]))
                tell_notice(f"{path} holds {found}: masked in the prompt; the file itself was not changed")
        update = self._changed(state, shown)
        if (contents := (update or {}).get(keys.MEMORY)) is not None:
            known = self.shares(state.get(keys.MEMORY) or {})
            for path, (sent, whole) in self.shares(contents).items():
                if path not in known:
                    tell_notice(f"{path}: {sent:,} of {whole:,} tokens in the prompt, the rest is read with read_file")
        return update

    def shares(self, contents: Mapping[str, str]) -> dict[str, tuple[int, int]]:
        """path -> (tokens in the prompt, tokens of the file), of the files that are not injected whole."""
        files = self._fitted(contents)
        ends = ["\n\n"] * (len(files) - 1) + ["\n"]
        return {
            one.path: (self._count(f"{one.path}\n\n{one.shown}{end}"), self._count(contents[one.path]))
            for one, end in zip(files, ends, strict=False)
            if one.left_out
        }

    def _layers(self, state: Mapping[str, Any]) -> list[str]:
        return list(layers(self.sources, state.get(keys.DAY) or self._today()))

    def _changed(self, state: Mapping[str, Any], now: dict[str, str]) -> dict[str, Any] | None:
        old = state.get(keys.MEMORY)
        same = old is not None and list(old.items()) == list(now.items())  # in the same order, too
        return None if same else {keys.MEMORY: now}

    def _with_memory(self, request: ModelRequest) -> ModelRequest:
        state: Mapping[str, Any] = request.state
        block = self.block(state.get(keys.MEMORY) or {}, writes=self._writes(request))
        return request.override(system_message=with_block(request.system_message, block))

    def block(self, contents: Mapping[str, str], *, writes: bool) -> str:
        """Return what is injected of these files; `writes` says whether the agent has the tools that write them."""
        return memory_block(self._fitted(contents), self.sources[0], writes=writes, form=self._form)

    def _masked(self, state: Mapping[str, Any]) -> dict[str, str]:
        paths = self._layers(state)
        now = texts(paths, self._backend.download_files(paths))
        return {path: redact(text) for path, text in now.items()}

    def _writes(self, request: ModelRequest) -> bool:
        return WRITES in self._tools(tuple(request.tools or ()))


class FreshMemoryMiddleware(MemoryMiddleware):
    """Memory read again before every model call, so that an edit is seen by the very next one."""

    before_agent = AgentMiddleware.before_agent
    abefore_agent = AgentMiddleware.abefore_agent

    def upcoming(self, state: Mapping[str, Any]) -> dict[str, Any]:
        today = {**state, keys.DAY: self._today()}
        return self._changed(today, self._masked(today)) or {}

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        messages = state.get(keys.MESSAGES) or ()
        begins = not messages or is_request(messages[-1])  # a turn's first call comes right after what the user said
        day = self._today() if begins else state.get(keys.DAY) or self._today()
        update = self._load({**state, keys.DAY: day})
        return update if state.get(keys.DAY) == day else {**(update or {}), keys.DAY: day}

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await in_thread(self.before_model, state, runtime)

    def _changed(self, state: Mapping[str, Any], now: dict[str, str]) -> dict[str, Any] | None:
        update = super()._changed(state, now)
        if state.get(keys.TOLD) is None:
            return update
        return {**(update or {}), keys.TOLD: None}  # of another policy, which this thread had before


class DeltaMemoryMiddleware(FreshMemoryMiddleware):
    """Memory whose block never changes while it need not, so that a provider's cached prefix stays good.

    A change is added at the very next model call. The block is made anew (a rebase) when `memory_contents`
    was set to None, when block and updates together would pass the budget, and in the first turn of a day on
    which a daily note it tells is too old to be injected: no cache outlives a night, and a diff that takes
    the note out would cost it once more. The updates before a rebase are then taken out of the stream.

    A compaction takes updates along with the messages that go. What has changed since the block was made is
    then told anew, as one diff, and only if that is not small the block is made anew: the templates of many
    models put the tools behind the system prompt, so that another block voids them in the cache, too, and
    every compaction changes memory, by the line that its flush put down.
    """

    def _changed(self, state: Mapping[str, Any], now: dict[str, str]) -> dict[str, Any] | None:
        told, base = state.get(keys.TOLD), compacted(state)
        if not _loaded(state) or told is None:
            return self._rebase(state, now, base)
        current = self._layers(state)
        if any(note_day(path) and path not in current for path in told):
            return self._rebase(state, now, base)
        if state.get(keys.BASE, 0) != base:
            return self._rebase(state, now, base, anew=False)
        if now == told:
            return None
        if not (diffs := file_diffs(_told(told), _told(now))):  # a comment, which is for people
            return {keys.TOLD: now}
        update = update_text(diffs)
        if not self._fits(state, [update, *map(message_text, _updates(state))]):
            return self._rebase(state, now, base)
        return {keys.TOLD: now, keys.MESSAGES: [_message(update)]}

    def _fits(self, state: Mapping[str, Any], updates: Sequence[str]) -> bool:
        block = "\n\n".join(f"{file.path}\n\n{file.shown}" for file in self._fitted(state[keys.MEMORY]))
        return self._count(block, *updates) <= self._budget

    def _rebase(self, state: Mapping[str, Any], now: dict[str, str], base: int, *, anew: bool = True) -> dict[str, Any]:
        """Return the update that makes the block anew, or if not `anew` one that tells what changed since it was made."""
        update = None if anew else self._since_block(state, now)
        messages = [*(RemoveMessage(id=m.id) for m in _updates(state) if m.id), *(update or ())]
        told = {keys.TOLD: now, keys.BASE: base, **({keys.MESSAGES: messages} if messages else {})}
        return {keys.MEMORY: now, **told} if update is None else told

    def _since_block(self, state: Mapping[str, Any], now: dict[str, str]) -> list[HumanMessage] | None:
        """Return what tells the changes since the block was made, which may be nothing; None where it is not small."""
        if not (diffs := file_diffs(_told(state[keys.MEMORY]), _told(now))):
            return []
        update = update_text(diffs)
        small = self._count(update) <= self._budget * _SMALL
        return [_message(update, **{keys.SINCE_BLOCK: True})] if small and self._fits(state, [update]) else None

    def rebased(self, request: ModelRequest) -> ModelRequest:
        """Return the request after a compaction with memory as it is now: the next call's begins as this one does."""
        now = self._masked(request.state)
        others = [m for m in request.messages if m.additional_kwargs.get("lc_source") != MEMORY_UPDATE]
        if (update := self._since_block(request.state, now)) is not None:
            return request.override(messages=[*others, *update])
        system = with_other_block(request.system_message, self.block(now, writes=self._writes(request)))
        return request.override(messages=others, system_message=system)


MEMORY_MIDDLEWARE: Mapping[Refresh, type[MemoryMiddleware]] = {
    "thread": MemoryMiddleware, "call": FreshMemoryMiddleware, "delta": DeltaMemoryMiddleware,
}  # fmt: skip
"""Refresh policy -> its middleware."""


_SMALL = 0.25
"""Share of the budget up to which a compaction leaves the block as it was."""


def _message(update: str, **more: Any) -> HumanMessage:
    return HumanMessage(update, additional_kwargs={"lc_source": MEMORY_UPDATE, **more})


def _updates(state: Mapping[str, Any]) -> list[BaseMessage]:
    return [m for m in still_sent(state) if m.additional_kwargs.get("lc_source") == MEMORY_UPDATE]


def _loaded(state: Mapping[str, Any]) -> bool:
    return state.get(keys.MEMORY) is not None


def _told(contents: Mapping[str, str]) -> dict[str, str]:
    """Return the texts as the block has them: without what is for people."""
    return {path: f"{text}\n" if (text := plain(raw)) else "" for path, raw in contents.items()}


def texts(sources: Sequence[str], responses: Sequence[FileDownloadResponse]) -> dict[str, str]:
    """Return path -> text of the files that exist; a file that can't be read is an error naming it."""
    found: dict[str, str] = {}
    for path, response in zip(sources, responses, strict=True):
        if response.error == "file_not_found":
            continue
        if response.error is not None or response.content is None:
            why = f"memory file {path} can't be read ({response.error})"
            raise RunError(why, "fix or remove it, then run again")
        try:
            found[path] = response.content.decode("utf-8")
        except UnicodeDecodeError as error:
            why = f"memory file {path} is not UTF-8 text (byte {error.start})"
            raise InvalidError(why, "save it as UTF-8, or remove it, then run again") from None
    return found


def with_block(system: SystemMessage | None, block: str) -> SystemMessage:
    """Return the system message with a text block appended, what it held left as it is."""
    held: list[Any] = list(system.content_blocks) if system else []
    return SystemMessage(content_blocks=[*held, {"type": "text", "text": f"\n\n{block}" if held else block}])


def with_other_block(system: SystemMessage | None, block: str) -> SystemMessage:
    """Return the system message with its memory block replaced, everything else byte for byte as it was."""
    held: list[Any] = list(system.content_blocks) if system else []
    at = next((i for i, b in enumerate(held) if b.get("text", "").lstrip("\n").startswith(MEMORY_OPEN)), None)
    if at is None:
        return with_block(system, block)
    text = held[at]["text"]
    lead = text[: len(text) - len(text.lstrip("\n"))]
    held[at] = {**held[at], "text": lead + block}
    return SystemMessage(content_blocks=held)
