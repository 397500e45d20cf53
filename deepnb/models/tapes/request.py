"""A request as LangChain has it -> its messages and tools, the same whichever provider it is for.

Left out is what only a provider needs (marks for a cache, signatures of thoughts, parameters of tools in its own form),
and ids that tie a result to its call: the results stand behind it in the order of the calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from deepnb.engine.request import message_text, tool_name
from deepnb.models.names import PROVIDERS
from deepnb.models.tapes.tape_request import keys_of

_ROLES = {"human": "user", "ai": "assistant"}
_MEDIA = ("image", "image_url", "audio", "input_audio", "video", "file")


def messages_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The messages as JSON: role, text, calls as (name, arguments), and images and other media by digest."""
    return [_message(message) for message in messages]


def tools_of(tools: Sequence[Any]) -> list[tuple[str, str]]:
    """(name, description) of the tools that are bound."""
    flat = [one for tool in tools for one in _declared(tool)]
    return [(tool_name(tool), _description(tool)) for tool in flat]


def provider_keys() -> frozenset[str]:
    """The keys of providers, and others, that the environment holds now."""
    return keys_of(one.key for one in PROVIDERS.values() if one.key is not None)


def form_of(tool: Any) -> str:
    """Name the provider whose form a tool's schema is in."""
    return "anthropic" if isinstance(tool, Mapping) and "input_schema" in tool else "openai"


def in_form(tool: Mapping[str, Any], form: str) -> Mapping[str, Any]:
    """A tool in OpenAI's form, in another."""
    if form != "anthropic":
        return tool
    function = tool["function"]
    return {
        "name": function["name"],
        "input_schema": function.get("parameters", {}),
        "description": function.get("description", ""),
    }


def _message(message: BaseMessage) -> dict[str, Any]:
    made: dict[str, Any] = {"role": _ROLES.get(message.type, message.type), "text": message_text(message)}
    if isinstance(message, AIMessage):
        calls = [[call["name"], call["args"]] for call in message.tool_calls]
        calls += [[call["name"] or "", call["args"] or ""] for call in message.invalid_tool_calls]
        made |= {"calls": calls} if calls else {}
    media = list(_media(message))
    return {**made, **({"images": media} if media else {})}


def _media(message: BaseMessage) -> Iterator[str]:
    """The digest of each image or other medium, in whichever form: a callback is given images in OpenAI's."""
    if isinstance(message.content, str):
        return
    for block in message.content:
        if isinstance(block, Mapping) and block.get("type") in _MEDIA:
            inner = block.get(str(block["type"]))
            fields = {**block, **inner} if isinstance(inner, Mapping) else block
            found = next((fields[k] for k in ("base64", "data", "url", "file_id") if fields.get(k)), "")
            data = str(found).partition(";base64,")[2] or str(found)
            yield blake2b(data.encode(), digest_size=9).hexdigest()


def _declared(tool: Any) -> Sequence[Any]:
    """The tools in one entry of the list that is sent: Google's holds several."""
    declared = tool.get("function_declarations") if isinstance(tool, Mapping) else None
    return declared if isinstance(declared, list) else [tool]


def _description(tool: Any) -> str:
    if isinstance(tool, Mapping):
        inner = tool.get("function", tool)
        return str(inner.get("description") or "") if isinstance(inner, Mapping) else ""
    return str(getattr(tool, "description", None) or getattr(tool, "__doc__", None) or "")
