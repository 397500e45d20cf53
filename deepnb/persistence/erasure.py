"""Taking words out of what a database holds beside the messages of conversations: memory as it was, at every turn."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.engine import keys
from deepnb.engine.request import source_of
from deepnb.persistence.codec import dumps
from deepnb.persistence.database import Blob, Database
from deepnb.values.files import FORGOTTEN, blot_out
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.text import rebuilt

_OF_MEMORY = {"memory", "memory update"}
"""Parts and labels of what a request has of memory; all else in it is the conversation, or no text of the user's."""


class Erasure:
    """Some words in a database: how often they are there, and their end."""

    def __init__(self, database: Database, words: str, is_memory: Callable[[str], bool]) -> None:
        """`is_memory` tells the files whose text is not of the conversation."""
        self._database, self._words, self._is_memory = database, words, is_memory
        forms = ((word, json.dumps(word, ensure_ascii=False)[1:-1]) for word in words.split())
        each = (f"(?:{'|'.join(map(re.escape, dict.fromkeys(some)))})" for some in forms)
        self._written = re.compile(r"(?:\s|\\[nrt])+".join(each), re.IGNORECASE)
        """The words as they are, and as JSON writes them."""
        self._bytes = re.compile(re.escape(words.split()[0].encode()), re.IGNORECASE)

    def count(self) -> int:
        """Return how many records hold the words."""
        return sum(1 for _ in self._records()) + sum(1 for _ in self._checkpoints())

    def erase(self) -> None:
        """Put `[forgotten]` in their place."""
        execute = self._database.execute
        with self._database.transaction():
            for table, column, id_, text in self._records():
                execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", text, id_)
            for blob, new in self._checkpoints():
                self._database.replace(blob, new)

    def _records(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield (table, column, id, what it is without the words) of rows that hold them."""
        for id_, text in self._database.execute("SELECT id, value FROM deepnb_values"):
            if self._written.search(text):  # the beginning of a request, skills as they were listed, a text of memory
                try:
                    plain = json.loads(text)
                except ValueError:
                    plain = None
                new = dumps(self._turn(plain)) if isinstance(plain, list) else self._written.sub(FORGOTTEN, text)
                if new != text:
                    yield "deepnb_values", "value", id_, new
        for id_, text in self._database.execute("SELECT id, record FROM deepnb_turns"):
            if self._written.search(text) and (new := dumps(self._turn(json.loads(text)))) != text:
                yield "deepnb_turns", "record", id_, new

    def _turn(self, value: Any) -> Any:
        """Return a turn's record, without the words in what its requests had of memory."""
        if isinstance(value, list):
            if len(value) == 4 and isinstance(value[3], int) and all(isinstance(v, str) for v in value[:3]):
                part, label, text, tokens = value  # `Sent`
                return [part, label, blot_out(self._words, text), tokens] if {part, label} & _OF_MEMORY else value
            return [self._turn(item) for item in value]
        return {k: self._turn(v) for k, v in value.items()} if isinstance(value, dict) else value

    def _checkpoints(self) -> Iterator[tuple[Blob, tuple[str, bytes]]]:
        """Yield (a value of LangGraph's that holds them, what it is without the words)."""
        serde = self._database.saver.serde
        for blob in self._database.blobs():
            if not self._bytes.search(blob.typed[1]):
                continue
            value = serde.loads_typed(blob.typed)
            if (new := self._channel(blob.channel, value)) is not value:
                yield blob, serde.dumps_typed(new)

    def _channel(self, name: str, value: Any) -> Any:
        """Return the value of a channel or key; the same object where it does not hold the words."""
        if name in keys.OF_MEMORY:
            return self._all(value)
        if name == keys.FILES and isinstance(value, Mapping):
            return _changed(value, lambda path, file: self._all(file) if self._is_memory(path) else file)
        return self._inside(value)

    def _inside(self, value: Any) -> Any:
        """Return a value that may hold channels, such as a whole state, and messages that tell of memory."""
        from langgraph.types import Send

        if isinstance(value, Send):
            arg = self._inside(value.arg)
            return value if arg is value.arg else Send(value.node, arg)
        if isinstance(value, BaseMessage):
            content = self._all(value.content) if source_of(value) == MEMORY_UPDATE else value.content
            return value if content is value.content else value.model_copy(update={"content": content})
        if isinstance(value, Mapping):
            return _changed(value, self._channel)
        return rebuilt(value, self._inside)

    def _all(self, value: Any) -> Any:
        if isinstance(value, str):
            new = blot_out(self._words, value)
            return value if new == value else new
        return rebuilt(value, self._all)


def _changed(value: Mapping[Any, Any], change: Callable[[Any, Any], Any]) -> Any:
    new = {k: change(k, v) for k, v in value.items()}
    return value if all(new[k] is v for k, v in value.items()) else new
