"""Values with credentials masked, as they go into a database; a value that holds none is the same object."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from deepnb.gate import redact
from deepnb.values.image import bare_images

_MEDIA = frozenset(("image", "image_url", "file", "audio", "video", "media"))
"""`type` of a content block whose text is base64, which no rule is made for: a picture goes without its metadata."""

_clean: set[tuple[int, int]] = set()
"""(hash, length) of long texts that hold none: a thread's messages are written more than once."""

_MANY = 200_000


def without_credentials(value: Any) -> Any:
    """The value with its credentials masked, in messages, mappings, sequences and exceptions."""
    from langchain_core.messages import BaseMessage

    match value:
        case str():
            return redacted_text(value)
        case bool() | int() | float() | bytes() | None:
            return value
        case BaseMessage():
            return _message(value)
        case Mapping():
            return _mapping(value)
        case list() | tuple():
            return _sequence(value)
        case BaseException():
            text = redacted_text(str(value))
            return value if text == str(value) else RuntimeError(text)
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in fields(value) if f.init]
            changed = _changes({name: getattr(value, name) for name in names})
            return replace(value, **changed) if changed else value
    return value


def redacted_text(text: str) -> str:
    """The text with its credentials masked."""
    key = hash(text), len(text)
    if key in _clean:
        return text
    found = redact(text)
    if found == text:
        if len(_clean) >= _MANY:
            _clean.clear()
        _clean.add(key)
    return found


def _message(message: Any) -> Any:
    named = {name: getattr(message, name) for name in type(message).model_fields if name not in ("id", "type")}
    changed = _changes(named)
    return message.model_copy(update=changed) if changed else message


def _mapping(value: Mapping[Any, Any]) -> Any:
    media = value.get("type") in _MEDIA
    out = {without_credentials(k): bare_images(v) if media else without_credentials(v) for k, v in value.items()}
    same = all(k in value and v is value[k] for k, v in out.items())
    return value if same and len(out) == len(value) else out


def _sequence(value: Any) -> Any:
    out = [without_credentials(item) for item in value]
    if all(a is b for a, b in zip(out, value, strict=True)):
        return value
    return type(value)(*out) if hasattr(value, "_fields") else type(value)(out)


def _changes(named: Mapping[str, Any]) -> dict[str, Any]:
    """The values that held a credential, without it."""
    made = ((name, without_credentials(value), value) for name, value in named.items())
    return {name: new for name, new, old in made if new is not old}
