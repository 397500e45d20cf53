"""The store of a LangGraph server as a store of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from deepnb.engine.server import GoneError, Server


class ServerStore(BaseStore):
    """One request for each operation."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations, in their order."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does for a coroutine, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                try:
                    found: Any = self._server.ask(lambda c: c.store.get_item(op.namespace, op.key))
                except GoneError:
                    return None
                return _item(Item, found) if found else None
            case SearchOp():
                asked: Any = self._server.ask(
                    lambda c: c.store.search_items(
                        op.namespace_prefix, filter=op.filter, limit=op.limit, offset=op.offset
                    )
                )
                return [_item(SearchItem, one) for one in asked["items"]]
            case PutOp(value=None):
                self._server.ask(lambda c: c.store.delete_item(op.namespace, op.key))
            case PutOp():
                value = dict(op.value or {})
                self._server.ask(lambda c: c.store.put_item(op.namespace, op.key, value))
            case ListNamespacesOp():
                prefix = next((list(m.path) for m in op.match_conditions or () if m.match_type == "prefix"), [])
                named: Any = self._server.ask(lambda c: c.store.list_namespaces(prefix, limit=op.limit))
                return [tuple(one) for one in named["namespaces"]]
        return None


def _item(kind: Any, given: Any) -> Any:
    times = {name: _time(given.get(name)) for name in ("created_at", "updated_at")}
    return kind(namespace=tuple(given["namespace"]), key=given["key"], value=given["value"], **times)


def _time(text: Any) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else datetime.now(UTC)
