"""Values of LangGraph's checkpoints as plain data: a class that a database names is neither imported nor called."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deepnb.core.errors import NotInstalledError, RefusedError
from deepnb.formats.json_values import mapping, text

_DELTA, _NUMPY = 7, 6
_ROLES = {
    "human": "human", "user": "human", "ai": "ai", "assistant": "ai", "tool": "tool", "function": "tool",
    "system": "system", "developer": "system", "remove": "remove", "chat": "human",
}  # fmt: skip
REMOVE_ALL = "__remove_all__"
_OVERWRITE = "__overwrite__"


@dataclass(frozen=True, slots=True)
class Named:
    """An object of a class, as the data it was made of."""

    module: str
    name: str
    data: Any


@dataclass(frozen=True, slots=True)
class Delta:
    """The whole value of a channel that is otherwise stored as its changes."""

    value: Any


def decode(kind: str | None, data: bytes | str | None) -> Any:
    """A stored value as plain data, with `Named` in the place of objects; RefusedError for what can't be read."""
    if kind in (None, "null", "empty") or data is None:
        return None
    if kind in ("bytes", "bytearray"):
        return data
    raw = data.encode() if isinstance(data, str) else data
    if kind == "json":
        return _guarded(lambda: json.loads(raw), "JSON")
    if kind == "msgpack":
        return _guarded(lambda: _unpack(raw), "msgpack")
    if "+" in str(kind):
        raise RefusedError(f"this database is encrypted ({kind})", "open it with the program that has the key")
    raise RefusedError(f"this database holds values of the kind {kind!r}, which are not read", "choose another file")


def _guarded(read: Any, what: str) -> Any:
    try:
        return read()
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            f"a checkpoint is damaged ({what}: {type(error).__name__})", "choose another thread"
        ) from None


def _unpack(raw: bytes) -> Any:
    try:
        import ormsgpack
    except ImportError:  # langgraph-checkpoint needs it
        raise NotInstalledError("reading checkpoints needs ormsgpack", "%pip install ormsgpack") from None
    return ormsgpack.unpackb(raw, ext_hook=_extension, option=ormsgpack.OPT_NON_STR_KEYS)


def _extension(code: int, data: bytes) -> Any:
    if code == _NUMPY:
        return None
    value = _unpack(data)
    if code == _DELTA:
        return Delta(value)
    if isinstance(value, list | tuple) and len(value) >= 3:
        return Named(str(value[0]), str(value[1]), value[2])
    return value


def whole(value: Any) -> Any:
    """A channel's value without its wrapping."""
    return value.value if isinstance(value, Delta) else value


def message(value: Any) -> dict[str, Any] | None:
    """A message as a dict with LangChain's fields, `type` among them; None for what is none."""
    if isinstance(value, str):
        return {"type": "human", "content": value}
    if _is_pair(value):
        value = {"role": value[0], "content": value[1]}
    if isinstance(value, Named):
        value = {"type": _kind_of(value.name), **mapping(value.data)}
    if not isinstance(value, dict):
        return None
    if "lc" in value and isinstance(value.get("id"), list):
        value = {"type": _kind_of(str(value["id"][-1:])), **mapping(value.get("kwargs"))}
    elif isinstance(value.get("data"), dict) and "type" in value:
        value = {"type": value["type"], **value["data"]}
    kind = str(value.get("type") or value.get("role") or "").removesuffix("MessageChunk").lower()
    if "role" in value and kind not in _ROLES:
        kind = str(value["role"])
    return {**value, "type": _ROLES[kind]} if kind in _ROLES else None


def _is_pair(value: Any) -> bool:
    """Whether it is a message as (role, text); stored tuples come back as lists."""
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and value[0] in _ROLES


def _kind_of(name: str) -> str:
    return next((k for k in ("human", "ai", "tool", "system", "remove", "function") if k in name.lower()), "")


def folded(messages: list[dict[str, Any]], write: Any) -> list[dict[str, Any]]:
    """Messages after a write to their channel: an id that is known is replaced, removals and overwrites are obeyed."""
    write = whole(write)
    over = _overwritten(write)
    if over is not None:
        return folded([], over[0])
    given = write if isinstance(write, list | tuple) and not _is_pair(write) else [write]
    found = [one for one in map(message, given) if one is not None]
    if any(one["type"] == "remove" and one.get("id") == REMOVE_ALL for one in found):
        last = max(n for n, one in enumerate(found) if one.get("id") == REMOVE_ALL)
        messages, found = [], found[last + 1 :]
    out, at = list(messages), {one["id"]: n for n, one in enumerate(messages) if one.get("id")}
    gone: set[int] = set()
    for one in found:
        known = at.get(text(one.get("id")))
        if one["type"] == "remove":
            gone |= {known} if known is not None else set()
        elif known is not None:
            out[known] = one
            gone.discard(known)
        else:
            if one.get("id"):
                at[text(one["id"])] = len(out)
            out.append(one)
    return [one for n, one in enumerate(out) if n not in gone] if gone else out


def _overwritten(write: Any) -> tuple[Any] | None:
    if isinstance(write, dict) and set(write) == {_OVERWRITE}:
        return (write[_OVERWRITE],)
    if isinstance(write, Named) and write.name == "Overwrite":
        data = write.data
        if isinstance(data, dict):
            return (data.get("value"),)
        return (data[0] if isinstance(data, list | tuple) and len(data) == 1 else data,)
    return None


def folded_all(writes: Iterable[Any], seed: Any = None) -> list[dict[str, Any]]:
    """The messages that a first value and writes to it, oldest first, come to."""
    messages = folded([], seed) if seed is not None else []
    for write in writes:
        messages = folded(messages, write)
    return messages


def plain(value: Any) -> Mapping[str, Any]:
    """An object's data where it is a dict, or the dict itself."""
    return mapping(value.data if isinstance(value, Named) else value)
