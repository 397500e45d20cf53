"""What is really sent to a model, taken apart: (part, text) pieces of messages and bound tools."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from deepnb.engine import keys
from deepnb.engine.fit_tools import fit_tool
from deepnb.gate.own_words import own_words
from deepnb.values.budget import Rule
from deepnb.values.image import image_size, image_tokens
from deepnb.values.messages import BROUGHT_BACK, MEMORY_UPDATE, SUMMARY
from deepnb.values.request import system_pieces

IMAGE = "image"
"""The label of a piece that is an image: its tokens are an estimate, with every counter."""
_HEADER = 64_000

MESSAGE_TOKENS = 3
"""What a message costs beside its text: its role and its borders (OpenAI's cookbook gives 3)."""

IMAGES = "deepnb_images"
"""Key of a prompt's own images in `additional_kwargs`: a description of each, for a model that does not see them."""

_SOURCES = {BROUGHT_BACK: "brought back", MEMORY_UPDATE: "memory update"}
"""What a human message is called that nobody said."""
_PART = {"human": "user", "ai": "assistant", "tool": "tool results", "system": "system"}


@dataclass(frozen=True, slots=True)
class Piece:
    part: str
    text: str
    extra: int = 0
    label: str = ""


def pieces(messages: Sequence[BaseMessage], tools: Sequence[Any] = ()) -> Iterator[Piece]:
    """Yield the request in pieces, tools last. Counting is additive over them."""
    for message in messages:
        yield from message_pieces(message)
    yield from (Piece("tools", tool_text(tool), label=tool_name(tool)) for tool in tools)


def message_pieces(message: BaseMessage) -> Iterator[Piece]:
    """Yield one message in pieces: its text (the system prompt by part), its images, then its tool calls."""
    text = message_text(message)
    if message.type == "system":
        split = system_pieces(text) or [("system", "system prompt", "")]
        for i, (part, name, stretch) in enumerate(split):
            yield Piece(part, stretch, MESSAGE_TOKENS if i == 0 else 0, name)
        return
    source = message.additional_kwargs.get("lc_source")
    part = "summary" if source == SUMMARY else _PART.get(message.type, "user")
    label = f"result of {message.name or 'a tool'}" if message.type == "tool" else part
    label = _SOURCES.get(source or "", label)
    yield Piece(part, text, MESSAGE_TOKENS, label)
    for block in () if isinstance(message.content, str) else message.content:
        if isinstance(block, Mapping) and block.get("type") in ("image", "image_url"):
            yield Piece(part, "", image_tokens(_size(block)), IMAGE)
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            text = call["name"] + json.dumps(call["args"], ensure_ascii=False, default=str)
            yield Piece(part, text, label=f"call of {call['name']}")


def _size(block: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return width and height of an image that is sent as data, whose header is in its beginning; None for any other."""
    url = block.get("image_url") or block.get("url")  # a callback is given images in OpenAI's form
    url = url.get("url") if isinstance(url, Mapping) else url
    data = block.get("base64") or block.get("data") or (str(url).partition(";base64,")[2] if url else "")
    try:
        return image_size(base64.b64decode(str(data)[:_HEADER]))
    except ValueError:
        return None


def is_request(message: BaseMessage) -> bool:
    """Return whether the user said it: summaries, memory updates and what was brought back are human messages, too."""
    return message.type == "human" and "lc_source" not in message.additional_kwargs


def typed_text(message: BaseMessage) -> str | None:
    """Return what the user typed of a message if that is not all of it; an empty text for one that was made elsewhere."""
    held = message.additional_kwargs
    return "" if keys.ORIGIN in held else held.get(keys.TYPED)


def said_in(message: BaseMessage) -> str:
    if not is_request(message):
        return ""
    typed = typed_text(message)
    return own_words(message_text(message) if typed is None else typed)


def source_of(message: BaseMessage) -> str | None:
    """Return who put a message there that nobody said; None for one of the conversation."""
    return message.additional_kwargs.get("lc_source")


def in_order(messages: Sequence[BaseMessage]) -> list[Any]:
    """Return the messages as all requests have them: what memory tells before its prompt, or behind its summary."""
    sources = [message.additional_kwargs.get("lc_source") for message in messages]  # without a call for each
    if MEMORY_UPDATE not in sources:
        return [*messages]
    made, since = list[Any](), list[Any]()
    for message, source in zip(messages, sources, strict=True):
        if source != MEMORY_UPDATE:
            made.append(message)
        elif keys.SINCE_BLOCK in message.additional_kwargs:
            since.append(message)
        else:
            made.insert(len(made) - 1 if made and is_request(made[-1]) else len(made), message)
    start = 1 if made and source_of(made[0]) == SUMMARY else 0
    return [*made[:start], *since, *made[start:]] if since else made


def mark_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a state says of the messages that compactions took out of it (`deepnb/engine/state_backend.py`); empty for none."""
    return (values.get(keys.OFFLOAD) or {}).get(keys.TAKEN) or {}


def compacted(values: Mapping[str, Any]) -> int:
    return _cutoff(values) + int(mark_of(values).get("messages", 0))


def still_sent(values: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a thread's state that no compaction has taken out of its requests."""
    return (values.get(keys.MESSAGES) or [])[_cutoff(values) :]


def _cutoff(values: Mapping[str, Any]) -> int:
    return int((values.get(keys.OFFLOAD) or {}).get("cutoff_index", 0))


def message_text(message: BaseMessage) -> str:
    """Return the text of a message; blocks that are not text are left out."""
    return message.content if isinstance(message.content, str) else str(message.text)


LONGEST = 2_000_000
"""Characters of a tool's result that are kept: more than any window takes, and each is looked through for credentials."""


def bounded(text: str) -> str:
    """Return the text; of one that is too long to be kept its ends, and how much is left out between them."""
    if len(text) <= LONGEST:
        return text
    line = f"[{len(text) - LONGEST:,} characters are left out here: a result is kept up to {LONGEST:,}]"
    return f"{text[: LONGEST * 3 // 4]}\n{line}\n{text[-(LONGEST // 4) :]}"


def result_text(output: Any) -> str:
    """Return what a tool gave back, as text that is `bounded`; of a Command, the messages it adds."""
    if isinstance(output, BaseMessage):
        return bounded(message_text(output))
    update = getattr(output, "update", None)
    if isinstance(update, dict):
        messages = update.get("messages") or ()
        return "\n".join(bounded(message_text(m)) for m in messages if isinstance(m, BaseMessage))
    return bounded(str(output))


def shown_text(message: BaseMessage) -> str:
    """Return the text of a message with its media named where they are: `[image: PATH or URL]`, each on its own line."""
    if isinstance(message.content, str) or all(isinstance(b, str) or b.get("type") == "text" for b in message.content):
        return message_text(message)
    own = IMAGES in message.additional_kwargs  # its text names them
    blocks: list[Any] = [b for b in message.content_blocks if not (own and b.get("type") == "image" and "base64" in b)]
    parts = [str(b.get("text") or "") if b.get("type") == "text" else medium(b) for b in blocks]
    return "\n\n".join(filter(None, parts))


def medium(block: Mapping[str, Any]) -> str:
    """Return what stands in a text for an image, a sound or a file; empty for blocks of another kind."""
    if (kind := block.get("type")) not in ("image", "audio", "video", "file", "text-plain"):
        return ""
    inline = str(block.get("url") or "").startswith("data:")
    where = block.get("file_id") if not block.get("url") or inline else block["url"]
    what = where or block.get("mime_type") or "data"
    return f"[{'file' if kind == 'text-plain' else kind}: {what}]"


def thinking_text(message: BaseMessage) -> str:
    """Return what a model thought, as its provider tells it; LangChain gives it one form, blocks of type `reasoning`."""
    if isinstance(message.content, str) and not message.additional_kwargs.get("reasoning_content"):
        return ""
    blocks = getattr(message, "content_blocks", ())
    return "".join(str(b.get("reasoning") or "") for b in blocks if b.get("type") == "reasoning")


def tool_name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        inner = tool.get("function", tool)
        return str(inner.get("name", "") if isinstance(inner, Mapping) else "")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))


def tools_by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {name: tool for tool in tools if (name := tool_name(tool))}


def tool_text(tool: Any) -> str:
    """Return a bound tool's schema as JSON, as providers are sent it."""
    return json.dumps(fit_tool(tool, tool_name(tool)).form, ensure_ascii=False, sort_keys=True, default=str)


# -- what a client sets aside of the window for the answer, lowered as the window fills


_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def reserves(model: Any, settings: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Return name -> tokens, of what a client or the settings of its call reserve; each can be set for one call, too."""
    bound, model = getattr(model, "kwargs", None), getattr(model, "bound", model)
    sent = getattr(model, "_default_params", None)  # OpenAI's has another name for it than its field
    named = isinstance(sent, Mapping) and any(name in sent for name in _NAMES)
    own = sent if named else {name: getattr(model, name, None) for name in _NAMES}
    given = [one for one in (own, bound, settings) if isinstance(one, Mapping)]
    found = {name: one[name] for one in given for name in _NAMES if name in one}
    return {n: v for n, v in found.items() if isinstance(v, int) and not isinstance(v, bool) and v > 0}


def reserve_of(model: Any) -> tuple[int, int]:
    """Return (tokens that a client reserves for the answer, those of them that are for thinking and so are not lowered)."""
    thinking = getattr(getattr(model, "bound", model), "thinking", None)
    fixed = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else 0
    return max(reserves(model).values(), default=0), fixed if isinstance(fixed, int) else 0


def lowered(model: Any, settings: Mapping[str, Any], rule: Rule, total: int) -> dict[str, int]:
    """Return the settings that make room for a request of `total` tokens; none where there is room."""
    room = rule.answer_room(total)
    return {} if room is None else {name: room for name, value in reserves(model, settings).items() if value > room}
