"""What upstream's backends say by private names alone, and stores seen through them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from deepagents.backends import StoreBackend
from deepagents.backends.utils import _get_backend_read_file_type
from langgraph.store.base import BaseStore, Op, Result, SearchOp

from deepnb.values.errors import InvalidError


def is_text(path: str) -> bool:
    return _get_backend_read_file_type(path) == "text"


# -- upstream's StoreBackend made one that knows its store and its namespace outside a run as well


def store_of(backend: StoreBackend) -> BaseStore | None:
    """Return the store that a backend was given; None where it takes that of the graph."""
    store: BaseStore | None = backend._store
    return store


def with_store(backend: StoreBackend, store: BaseStore) -> StoreBackend:
    """Return a backend over this store whose namespace function gets None, inside a run, too: files are the same in both."""
    namespace: Callable[[None], tuple[str, ...]] = backend._namespace  # type: ignore[assignment]
    made = StoreBackend(store=store, namespace=lambda _runtime: namespace(None))
    try:
        if not isinstance(space := namespace(None), tuple):
            raise TypeError(f"it gave a {type(space).__name__}, not a tuple")
        made._get_namespace()
    except Exception as error:  # the user's function
        why = next(iter(str(error.__cause__ or error).splitlines()), type(error).__name__)
        do = 'files are read outside a run, too: use one that needs no runtime, such as lambda _: ("me", "filesystem")'
        raise InvalidError(f"the namespace function of the StoreBackend failed ({why})", do) from None
    return made


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
        return [self._search(op) if isinstance(op, SearchOp) else self.store.batch([op])[0] for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does for a coroutine, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _search(self, op: SearchOp) -> list[Any]:
        found: list[Any] = []
        start = 0
        while len(found) < op.offset + op.limit:
            page: Any = self.store.batch([op._replace(limit=_PAGE, offset=start)])[0]
            found += [item for item in page if item.namespace == op.namespace_prefix]
            if len(page) < _PAGE:
                break
            start += _PAGE
        return found[op.offset : op.offset + op.limit]
