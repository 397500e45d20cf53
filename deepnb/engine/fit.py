"""Requests made fit for their provider: a message or a tool that it would refuse would end the thread for good.

What is common to all is done once: names and ids in the letters they take, ids that are unique, each call with one
result, no blank texts. `PROTOCOLS` says in what they differ. The thread keeps what was said: what is changed here is a
copy, made so that a request begins as the one before it did and a provider's cache holds.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deepnb.engine.answer import NOT_JSON, reader
from deepnb.engine.fit_tools import UNFIT, FitTool, fit_name, fit_tool
from deepnb.engine.images import fit_images, takes_images
from deepnb.engine.request import medium, tool_name
from deepnb.engine.tools import RequestMiddleware

_ID = 40
SHOWN = "The images that the tools above showed:"
EMPTY, LOST = "(empty)", "No result of this call was recorded."
"""The text of a result without any, and of one that is missing."""
BEGIN, CONTINUE = "(The conversation begins with your answer.)", "(Continue.)"
"""What the user says to a model whose provider wants the user's word first, and to any model last."""


@dataclass(frozen=True)
class Protocol:
    """What a provider takes beside what all of them take."""

    makers: tuple[str, ...] | None = None
    """Whose answers go back as they are; of all others' the text does. None for those that no row names."""
    prompt: frozenset[str] | None = None
    """Kinds of blocks of a user's message or a result, None for any; others are named in words."""
    user_first: bool = False
    """Whether the user speaks first, and system messages stand in front alone."""
    enums: bool = True
    """Whether a schema lists values that are no texts."""
    signed: bool = False
    """Whether thoughts need a signature, which is good for the model that gave it."""


_MEDIA = ("text", "image", "image_url", "file")
PROTOCOLS: Mapping[str, Protocol] = {
    "openai": Protocol((), frozenset((*_MEDIA, "audio", "input_audio"))),
    "responses": Protocol(("openai",), frozenset((*_MEDIA, "input_text", "input_image", "input_file"))),
    "anthropic": Protocol(
        ("anthropic",), frozenset((*_MEDIA, "text-plain", "document", "search_result")), user_first=True, signed=True
    ),
    "google_genai": Protocol(("google_genai", "google_vertexai"), user_first=True, enums=False),
    "ollama": Protocol(("ollama",), frozenset(("text", "image", "image_url"))),
}
_OTHER = Protocol()
_KNOWN = {maker for protocol in PROTOCOLS.values() for maker in protocol.makers or ()}
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
_CALLS = ("tool_use", "function_call", "tool_call")
_ADDED = ("id", "index", "annotations")
_IN_RESULTS = ("text", "document", "search_result")
"""Blocks that a result may have; others stand in a user's message behind the results, where all providers take them."""


def protocol_of(model: Any) -> str:
    """Return the protocol that a model's requests are in, else its package; a tape has that of the model it is of.

    It is empty for a class that is in no package of LangChain's.
    """
    modules = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    packages = [m.removeprefix("langchain_") for m in modules if m.startswith("langchain_") and m != "langchain_core"]
    packages += [getattr(getattr(model, "taped", None), "schemas", "")]
    decides = getattr(model, "_use_responses_api", None)
    if decides and decides({"tools": [{"type": "function"}]}):
        return "responses"
    return next((one for one in PROTOCOLS if one in packages), packages[0])


@dataclass
class _Made:
    given: list[BaseMessage] = field(default_factory=list)
    out: list[BaseMessage] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """The ids of calls."""
    waiting: list[tuple[str, str, str]] = field(default_factory=list)
    """(id in the thread, id in the request, name) of the last answer's calls without a result."""
    placed: dict[str, int] = field(default_factory=dict)
    """Id in the thread of the last answer's calls with one -> where it stands."""
    pictures: list[Any] = field(default_factory=list)

    def add(self, one: BaseMessage) -> None:
        if not isinstance(one, ToolMessage):
            self.out += self.ending()
            self.waiting, self.placed, self.pictures = [], {}, []
            self.out.append(self._with_ids(one) if isinstance(one, AIMessage) and one.tool_calls else one)
            return
        # of the results of a call a second one joins the first, and one of no call is left out
        blocks = () if isinstance(one.content, str) else as_blocks(one)
        if pictures := [block for block in blocks if block.get("type") not in _IN_RESULTS]:
            self.pictures += pictures
            one = one.model_copy(update={"content": one.text or "(below)"})
        call = next((call for call in self.waiting if call[0] == one.tool_call_id), None)
        if call is not None:
            self.waiting.remove(call)
            self.placed[call[0]] = len(self.out)
            self.out.append(one if call[1] == call[0] else one.model_copy(update={"tool_call_id": call[1]}))
        elif (place := self.placed.get(one.tool_call_id)) is not None:
            both = [*as_blocks(self.out[place]), *as_blocks(one)]
            self.out[place] = self.out[place].model_copy(update={"content": both})

    def ending(self) -> list[BaseMessage]:
        """Return what ends the results of the last answer's calls: those that are missing, and their pictures."""
        lost = [ToolMessage(LOST, name=name, tool_call_id=id_, status="error") for _, id_, name in self.waiting]
        shown = [HumanMessage([{"type": "text", "text": SHOWN}, *self.pictures])] if self.pictures else []
        return [*lost, *shown]

    def _with_ids(self, message: AIMessage) -> AIMessage:
        """Return an answer whose calls have ids that no call before has; they wait for their results."""
        for call in message.tool_calls:
            own = call["id"] or ""
            base = sent = UNFIT.sub("_", own)[: _ID if len(own) <= _ID else _ID - 8] or "call"
            number = 1
            while sent in self.used:
                number += 1
                sent = f"{base[: _ID - 8]}_{number}"
            self.used.add(sent)
            self.waiting.append((own, sent, call["name"]))
        calls = [{**call, "id": sent} for call, (_, sent, _) in zip(message.tool_calls, self.waiting, strict=True)]
        return message if calls == message.tool_calls else _with_calls(message, calls)


class Fitter:
    """Makes the messages of requests fit; of a request that begins as the last one did, only what is new is looked at."""

    def __init__(self) -> None:
        self._last: dict[str, _Made] = {}

    def __call__(self, messages: Sequence[BaseMessage], model: Any) -> list[BaseMessage]:
        """Return the messages for a model; those that are fit are the very same objects."""
        name = protocol_of(model)
        protocol, asked = PROTOCOLS.get(name, _OTHER), f"{name} {getattr(model, 'model', '')}"
        made = self._last.pop(asked, None) or _Made()  # tasks of one subagent may run side by side: one has it
        if made.given != [*messages[: len(made.given)]]:  # a checkpoint gives new objects at each turn, which are equal
            made = _Made()
        for message in messages[len(made.given) :]:
            if (one := _fit_one(message, protocol, model)) is not None:
                made.add(one)
        made.given = [*messages]
        self._last = {asked: made}
        out = [*made.out, *made.ending()]
        before = [HumanMessage(BEGIN)] if protocol.user_first and out and out[0].type == "ai" else []
        return [*before, *out, *([HumanMessage(CONTINUE)] if out and out[-1].type == "ai" else [])]


def _with_calls(message: AIMessage, calls: Sequence[Any]) -> AIMessage:
    """Return an answer with other calls: the client writes them anew, so that what says the old ones is left out."""
    said = message.content
    content = said if isinstance(said, str) else [one for one in as_blocks(message) if one.get("type") not in _CALLS]
    kept = {k: v for k, v in message.additional_kwargs.items() if k not in ("tool_calls", "function_call")}
    update = {"tool_calls": calls, "invalid_tool_calls": [], "content": content, "additional_kwargs": kept}
    return message.model_copy(update=update)


def _fit_one(message: BaseMessage, protocol: Protocol, model: Any = None) -> BaseMessage | None:
    """Return a message as the provider takes it, without regard to the others; None for one that says nothing."""
    if message.name and fit_name(message.name) != message.name:
        message = message.model_copy(update={"name": fit_name(message.name)})
    if isinstance(message, AIMessage):
        return _fit_answer(message, protocol, model)
    made: Any = message.content
    if not isinstance(made, str):
        blocks, taken = list[Any](), protocol.prompt
        for block in as_blocks(message):
            if block.get("type") == "text":
                blocks += [] if _is_blank(block) else [{k: v for k, v in block.items() if k not in _ADDED}]
            elif taken is None or block.get("type") in taken or message.type == "system":
                blocks.append(block)
            elif words := medium(block):  # what it is
                blocks.append({"type": "text", "text": words})
        made = made if blocks == made else blocks
    if not made or (isinstance(made, str) and made.isspace()):
        return message.model_copy(update={"content": EMPTY}) if isinstance(message, ToolMessage) else None
    if isinstance(message, SystemMessage) and protocol.user_first:
        return HumanMessage(made, id=message.id)
    return message if made is message.content else message.model_copy(update={"content": made})


def _fit_answer(message: AIMessage, protocol: Protocol, model: Any) -> AIMessage | None:
    content: Any = message.content
    blocks = as_blocks(message)
    maker = message.response_metadata.get("model_provider")
    if isinstance(content, str):
        content = "" if content.isspace() else content
    # the blocks of a class that nobody knows go back as they are: it has its own reasons
    elif maker in (protocol.makers or ()) or (
        protocol.makers is None and (maker not in _KNOWN or not protocol_of(model))
    ):
        content = _own_content(message, blocks, protocol, model)
    else:
        said = (str(one.get("text") or one.get("refusal") or "") for one in blocks)
        content = "\n\n".join(text for text in said if text.strip())
    calls: list[Any] = [{**call, "name": fit_name(call["name"])} for call in message.tool_calls]
    for one in message.invalid_tool_calls:
        made = {"name": fit_name(one["name"] or ""), "args": {NOT_JSON: one["args"] or ""}, "id": one["id"]}
        calls.append({**made, "type": "tool_call"})
    if content is not message.content:
        message = message.model_copy(update={"content": content})
    raw = any(one.get("type") == "function_call" and not str(one.get("arguments")).endswith("}") for one in blocks)
    if raw or calls != message.tool_calls:
        return _with_calls(message, calls)
    return message if content or calls else None


def _own_content(message: AIMessage, blocks: Sequence[Any], protocol: Protocol, model: Any) -> Any:
    """Return the blocks of an answer that go back as they are, without thoughts whose signature is not good for the model."""
    asked = re.sub(r"-(latest|0)$", "", str(getattr(model, "model", "")))  # claude-3-7-sonnet-latest, claude-opus-4-0
    said = str(message.response_metadata.get("model_name") or "")
    foreign = asked.startswith("claude-") and said.startswith("claude-") and not said.startswith(asked)
    thoughts = [one for one in blocks if one.get("type") in _THOUGHTS]
    unsigned = [one for one in thoughts if foreign or not (one.get("signature") or one.get("data"))]
    unfit = [one for one in blocks if _is_blank(one) or (protocol.signed and one in unsigned)]
    kept = [one for one in blocks if one not in unfit]
    if not message.tool_calls and all(one.get("type") in _THOUGHTS for one in kept):
        return []
    return kept if unfit else message.content


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def as_blocks(message: BaseMessage) -> list[Any]:
    content = [message.content] if isinstance(message.content, str) else message.content
    return [one if isinstance(one, Mapping) else {"type": "text", "text": one} for one in content]


class FitMiddleware(RequestMiddleware):
    """Makes a request one that its provider takes, and gives a model that sees no images words in their place."""

    def __init__(self) -> None:
        self._fitter = Fitter()
        self._known: dict[tuple[str, bool], tuple[Any, FitTool]] = {}

    def changed(self, request: Any) -> Any:
        enums, tools = PROTOCOLS.get(protocol_of(request.model), _OTHER).enums, list[tuple[Any, FitTool]]()
        for one in request.tools or ():  # upstream copies tools at each call: what is equal was made fit before
            key, schema = (tool_name(one), enums), getattr(one, "args_schema", None)
            same = (one.description, id(schema)) if schema is not None else id(one)
            if key not in self._known or self._known[key][0] != same:
                self._known[key] = (same, fit_tool(one, key[0], enums=enums))
            tools.append((one, self._known[key][1]))
        if (read := reader()) is not None:
            odd = (fit for _, fit in tools if fit.mended)
            read.offered_as = {fit_name(fit.name): (fit.name, fit.arguments) for fit in odd}
        messages = fit_images(request.messages, sees=takes_images(request.model))
        return request.override(
            messages=self._fitter(messages, request.model),
            tools=[fit.form if fit.mended else one for one, fit in tools],
            system_message=request.system_message and _fit_one(request.system_message, _OTHER),
        )
