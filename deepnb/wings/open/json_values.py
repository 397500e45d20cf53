"""Values of foreign JSON, whatever they turn out to be: text, numbers, moments, and the text of content blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

_MOST = 10**12
"""A larger number is not taken for a count of tokens."""


def text(value: object) -> str:
    """The value where it is a text; halves of surrogate pairs, which no page can show, become `?`."""
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    """The value where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def count(value: object) -> int:
    """The value where it is a count, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return 0
    return int(value)


def dollars(value: object) -> float | None:
    """The value where it is a price, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return float(value)


def size(value: object) -> int:
    """About how many characters a value has as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        return sum(size(key) + size(one) + 3 for key, one in value.items())
    return sum(map(size, value)) + 2 if isinstance(value, list) else 4


def iso(value: object) -> str:
    """A moment as an ISO timestamp: given as one, or in milliseconds since 1970; empty where it is none."""
    if isinstance(value, str):
        if value.isdigit() and len(value) > 9:
            return iso(int(value))
        return value if len(value) <= 40 and value[:4].isdigit() else ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**14:
        return ""
    seconds = value / 1000 if value > 10**11 else value
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def blocks(content: object) -> Iterator[Mapping[str, Any]]:
    """The blocks of a message's content; a plain text is one block."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for block in array(content):
        if isinstance(block, dict):
            yield block
        elif isinstance(block, str):
            yield {"type": "text", "text": block}


def content_text(content: object) -> str:
    """The text of a message's content, its media named in brackets."""
    return "\n\n".join(filter(None, (block_text(block) for block in blocks(content))))


def block_text(block: Mapping[str, Any]) -> str:
    """The text of one block: `[image: image/png]` for media, empty for what has none."""
    if isinstance(block.get("text"), str):
        return text(block["text"])
    kind = text(block.get("type"))
    if kind in ("image", "document", "input_image", "image_url", "file", "audio", "input_audio", "input_file"):
        return f"[{kind.removeprefix('input_').removesuffix('_url')}: {_medium(block)}]"
    if kind == "tool_reference":
        return text(block.get("tool_name"))
    return ""


def _medium(block: Mapping[str, Any]) -> str:
    source = mapping(block.get("source")) or block
    named = source.get("media_type") or source.get("mimeType") or source.get("mime_type")
    if named:
        return text(named)[:100]
    url = block.get("image_url")
    url = mapping(url).get("url") if isinstance(url, dict) else url
    where = text(url) or text(source.get("url"))
    return where[5:].partition(";")[0][:100] if where.startswith("data:") else where[:200] or "data"
