"""LangGraph's checkpointers, as a session that is kept uses them: no credential and no foreign class goes through."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from deepnb.engine import keys
from deepnb.gate import redact
from deepnb.values.errors import DeepnbError, RefusedError
from deepnb.values.image import bare_images
from deepnb.values.text import rebuilt

# -- values with credentials masked, as they go into a database; a value that holds none is the same object


_MEDIA = frozenset(("image", "image_url", "file", "audio", "video", "media"))
"""`type` of a content block whose text is base64, which no rule is made for: a picture goes without its metadata."""

_clean: set[tuple[int, int]] = set()
"""(hash, length) of long texts that hold none: a thread's messages are written more than once."""

_MANY = 200_000


def without_credentials(value: Any) -> Any:
    """Return the value with its credentials masked, in messages, mappings, sequences and exceptions."""

    match value:
        case str():
            return redacted_text(value)
        case BaseMessage():
            named = {name: getattr(value, name) for name in type(value).model_fields if name not in ("id", "type")}
            changed = {name: new for name, old in named.items() if (new := without_credentials(old)) is not old}
            return value.model_copy(update=changed) if changed else value
        case Mapping():
            change = bare_images if value.get("type") in _MEDIA else without_credentials
            out = {without_credentials(k): change(v) for k, v in value.items()}
            same = all(k in value and v is value[k] for k, v in out.items())
            return value if same and len(out) == len(value) else out
        case BaseException():
            text = redacted_text(str(value))
            return value if text == str(value) else RuntimeError(text)
    return rebuilt(value, without_credentials)


def redacted_text(text: str) -> str:
    """Return the text with its credentials masked."""
    key = hash(text), len(text)
    if key in _clean:
        return text
    if (found := redact(text)) == text:
        if len(_clean) >= _MANY:
            _clean.clear()
        _clean.add(key)
    return found


class PlainSerializer(JsonPlusSerializer):
    """Makes LangChain's messages and plain values again, and of other classes their data; it never unpickles."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        with readable("a checkpoint of this session", (Exception,)):  # whatever bytes can do to a decoder
            # deepnb writes no JSON here, and LangChain's reviver would import what a constructor in it names.
            return json.loads(data[1]) if data[0] == "json" else super().loads_typed(data)


@contextmanager
def readable(what: str, errors: tuple[type[Exception], ...] = (ValueError, TypeError, LookupError)) -> Iterator[None]:
    """Within the block stored bytes are decoded: an error that says they are damaged, in place of the decoder's own."""
    try:
        yield
    except DeepnbError:
        raise
    except errors as error:
        if isinstance(error.__cause__, DeepnbError):
            raise error.__cause__ from None
        do = "restore a copy of its file or database"
        raise RefusedError(f"{what} is damaged ({type(error).__name__})", do) from None


class RedactedSaver(BaseCheckpointSaver[Any]):
    """Goes before a checkpointer class: what that writes has no credentials.

    Files go through as they are: a credential in memory is refused before, and about one in any other the user was
    asked.
    """

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        values = {name: _plain(name, value) for name, value in checkpoint["channel_values"].items()}
        masked: Any = {**checkpoint, "channel_values": values}
        return super().put(config, masked, metadata, new_versions)

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        super().put_writes(config, [(name, _plain(name, value)) for name, value in writes], task_id, task_path)

    def get_tuple(self, config: Any) -> Any:
        with readable("a checkpoint of this session"):
            return super().get_tuple(config)

    def list(self, config: Any, **how: Any) -> Any:
        with readable("a checkpoint of this session"):
            yield from super().list(config, **how)

    # A run that is a coroutine has a thread of its own, which may wait for the database.

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def alist(self, config: Any, **how: Any) -> Any:
        for found in self.list(config, **how):
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)


def _plain(channel: str, value: Any) -> Any:
    if channel == keys.FILES:
        return value
    if channel == keys.START and isinstance(value, dict) and keys.FILES in value:
        rest = without_credentials({k: v for k, v in value.items() if k != keys.FILES})
        return {**rest, keys.FILES: value[keys.FILES]}
    return without_credentials(value)


def copy_checkpoints(source: InMemorySaver, target: BaseCheckpointSaver[Any]) -> None:
    """Put all that was kept in memory into a database, under the same ids."""
    kept = ((t, s, id_) for t, spaces in source.storage.items() for s, made in spaces.items() for id_ in sorted(made))
    for thread, space, id_ in kept:
        place = {"thread_id": thread, "checkpoint_ns": space}
        config: Any = {"configurable": {**place, "checkpoint_id": id_}}
        found = source.get_tuple(config)
        assert found is not None
        parent = {"checkpoint_id": p} if (p := source.storage[thread][space][id_][2]) else {}
        versions = dict(found.checkpoint["channel_versions"])
        target.put({"configurable": {**place, **parent}}, found.checkpoint, found.metadata, versions)
        by_task: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        for (task, _), (_, channel, value, path) in sorted(source.writes.get((thread, space, id_), {}).items()):
            by_task.setdefault((task, path), []).append((channel, source.serde.loads_typed(value)))
        for (task, path), writes in by_task.items():
            if ordinary := [one for one in writes if one[0] not in WRITES_IDX_MAP]:
                target.put_writes(config, ordinary, task, path)
            for one in writes:
                if one[0] in WRITES_IDX_MAP:  # it has a fixed place beside the others of its task
                    target.put_writes(config, [one], task, path)
