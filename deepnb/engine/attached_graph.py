"""A compiled graph of somebody else's, read and written as deepnb's own is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.last_value import LastValue
from langgraph.errors import EmptyChannelError
from langgraph.graph import END
from langgraph.types import Command, Overwrite

from deepnb.core.errors import RefusedError
from deepnb.core.values import Compacted
from deepnb.engine import async_stream, keys
from deepnb.engine.graph import MODES, Config
from deepnb.engine.interrupts import Questions
from deepnb.engine.listen import Listener
from deepnb.engine.probe import offload


class AttachedGraph(Questions):
    """Translates the name of its messages, and writes only what it has a channel for."""

    def __init__(self, compiled: Any, messages: str = keys.MESSAGES, *, is_async: bool = False) -> None:
        """`messages` is the channel of the conversation; `is_async` runs it as a coroutine."""
        self.compiled = compiled
        self._messages = messages
        self._is_async = is_async
        self._writer = _writer(compiled.builder)

    # -- a run

    def stream(self, given: Any, config: Config) -> Iterator[tuple[str, Any]]:
        if (listener := listener_of(config)) is not None:
            listener.wakes_nodes = True
        value = self._theirs(given) if isinstance(given, Mapping) and not isinstance(given, Command) else given
        if self._is_async:
            chunks = async_stream.read(lambda: self.compiled.astream(value, config, stream_mode=list(MODES)))
        else:
            chunks = self.compiled.stream(value, config, stream_mode=list(MODES))
        before: dict[str, Any] | None = None
        for mode, chunk in chunks:
            if mode == "values":
                values = self._ours(chunk)
                if before is not None:
                    yield "updates", {"": {keys.MESSAGES: added_messages(before, values)}}
                    tell_compaction(listener, before, values)
                yield mode, (before := values)
            elif keys.INTERRUPT in chunk:
                yield mode, chunk

    # -- its state

    def state(self, config: Config) -> Any:
        found = self.compiled.get_state(config)
        return found._replace(values=self._ours(found.values))

    def update(self, config: Config, values: Mapping[str, Any]) -> None:
        known = {name: value for name, value in self._theirs(values).items() if name in self._channels}
        if known:
            self.compiled.update_state(config, known, as_node=self._writer)
        if not known or self.compiled.get_state(config).next:
            self.land(config)

    def become(self, config: Config, values: Mapping[str, Any], source: Config | None = None) -> None:
        now, then = self.compiled.get_state(config).values, self._theirs(values)
        written = {name: self._whole(name, then.get(name)) for name in {*now, *then} if name in self._channels}
        self.update(config, self._ours({name: value for name, value in written.items() if value is not _NOTHING}))

    def back(self, config: Config) -> None:
        self.compiled.update_state(config, None, as_node=keys.COPY_NODE)

    def land(self, config: Config) -> None:
        self.compiled.update_state(config, None, as_node=END)

    def answer_tools(self, config: Config, results: Sequence[ToolMessage]) -> None:
        if "tools" not in self.compiled.nodes:
            what = "the graph has no node named tools that could skip a call"
            raise RefusedError(what, "%agent resume again runs it again, %agent PROMPT continues without it")
        self.compiled.update_state(config, {self._messages: list(results)}, as_node="tools")

    def is_running(self, config: Config) -> bool:
        return False

    # -- helpers

    @property
    def _channels(self) -> Mapping[str, Any]:
        channels: Mapping[str, Any] = self.compiled.builder.channels
        return channels

    def _theirs(self, values: Mapping[str, Any]) -> dict[str, Any]:
        named = {self._messages if name == keys.MESSAGES else name: value for name, value in values.items()}
        if isinstance(held := named.get(self._messages), list):
            named[self._messages] = [_unnumbered(message) for message in held]
        return named

    def _ours(self, values: Any) -> dict[str, Any]:
        """Values with the conversation under its usual name, as LangChain's messages."""
        named = dict(values) if isinstance(values, Mapping) else {}
        if self._messages != keys.MESSAGES and (self._messages in named or keys.MESSAGES in named):
            named.pop(keys.MESSAGES, None)
            if self._messages in named:
                named[keys.MESSAGES] = named.pop(self._messages)
        if isinstance(held := named.get(keys.MESSAGES), list):
            messages = held if all(isinstance(m, BaseMessage) for m in held) else convert_to_messages(held)
            named[keys.MESSAGES] = [_numbered(message, number) for number, message in enumerate(messages)]
        return named

    def _whole(self, name: str, value: Any) -> Any:
        """What is written so that a channel holds a value, whatever its reducer."""
        channel = self._channels[name]
        if isinstance(channel, BinaryOperatorAggregate | DeltaChannel):
            return Overwrite(_first(channel) if value is None else value)
        return value if isinstance(channel, LastValue) else _NOTHING


_NOTHING: Any = object()


def _first(channel: Any) -> Any:
    """What a channel with a reducer holds before anything was written to it."""
    try:
        return channel.copy().get()
    except EmptyChannelError:
        return channel.typ() if isinstance(channel.typ, type) else []


def _writer(builder: Any) -> str:
    """The node that state is written as from: the fewer nodes follow on it, the fewer are dropped again."""
    ends = [name for name in builder.nodes if (name, END) in builder.edges and not builder.branches.get(name)]
    plain = [name for name in builder.nodes if not builder.branches.get(name)]
    return str(next(iter((*ends, *plain, *builder.nodes))))


def listener_of(config: Config) -> Listener | None:
    """What hears a run, of its callbacks."""
    return next((one for one in config.get("callbacks") or () if isinstance(one, Listener)), None)


def tell_compaction(listener: Listener | None, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Tell the listener of a run that messages were offloaded since the last state."""
    made, known = (offload(state.get(keys.OFFLOAD)) for state in (now, before))
    if made is not None and made != known and listener is not None:
        gone = made.cutoff - (known.cutoff if known else 0)
        listener.emit(Compacted(made if made.messages else replace(made, messages=max(0, gone))))


def added_messages(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[BaseMessage]:
    """The messages of a state that the one before it has not."""
    known = {message.id for message in before.get(keys.MESSAGES) or ()}
    return [message for message in now.get(keys.MESSAGES) or () if message.id not in known]


_NUMBERED = "deepnb-"


def _numbered(message: BaseMessage, number: int) -> BaseMessage:
    """A message by which it is known again: one without an id, as a reducer of the user's may leave it, is so by its place."""
    return message if message.id else message.model_copy(update={"id": f"{_NUMBERED}{number}"})


def _unnumbered(message: Any) -> Any:
    numbered = isinstance(message, BaseMessage) and (message.id or "").startswith(_NUMBERED)
    return message.model_copy(update={"id": None}) if numbered else message
