"""Upstream's StoreBackend made one that knows its store and its namespace outside a run as well."""

from collections.abc import Callable

from deepagents.backends import StoreBackend
from langgraph.store.base import BaseStore

from deepnb.values.errors import InvalidError


def store_of(backend: StoreBackend) -> BaseStore | None:
    """The store that a backend was given; None where it takes that of the graph."""
    store: BaseStore | None = backend._store
    return store


def with_store(backend: StoreBackend, store: BaseStore) -> StoreBackend:
    """A backend over this store whose namespace function gets None, inside a run, too: files are the same in both."""
    namespace: Callable[[None], tuple[str, ...]] = backend._namespace  # type: ignore[assignment]
    made = StoreBackend(store=store, namespace=lambda _runtime: namespace(None))
    try:
        if not isinstance(space := namespace(None), tuple):
            raise TypeError(f"it gave a {type(space).__name__}, not a tuple")
        made._get_namespace()
    except Exception as error:  # the user's function
        why = next(iter(str(error.__cause__ or error).splitlines()), type(error).__name__)
        raise InvalidError(
            f"the namespace function of the StoreBackend failed ({why})",
            'files are read outside a run, too: use one that needs no runtime, such as lambda _: ("me", "filesystem")',
        ) from None
    return made
