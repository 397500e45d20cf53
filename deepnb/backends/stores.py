"""A LangGraph store of which a namespace is seen alone."""

import asyncio
from collections.abc import Iterable
from typing import Any

from langgraph.store.base import BaseStore, Op, Result, SearchOp

_PAGE = 1000


class ExactStore(BaseStore):
    """The store given, where a search finds what is in the very namespace asked for, and nothing below it.

    A store's own search takes a namespace for a prefix: whoever lists ("filesystem",) would see the
    files of an assistant named "filesystem", which are in ("filesystem", "filesystem").
    """

    def __init__(self, store: BaseStore) -> None:
        self.store = store
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations, in their order."""
        return [self._search(op) if isinstance(op, SearchOp) else self.store.batch([op])[0] for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does for a coroutine, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _search(self, op: SearchOp) -> list[Any]:
        """One page of what is in the namespace itself."""
        found: list[Any] = []
        start = 0
        while len(found) < op.offset + op.limit:
            page: Any = self.store.batch([op._replace(limit=_PAGE, offset=start)])[0]
            found += [item for item in page if item.namespace == op.namespace_prefix]
            if len(page) < _PAGE:
                break
            start += _PAGE
        return found[op.offset : op.offset + op.limit]
