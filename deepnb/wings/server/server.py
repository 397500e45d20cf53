"""A LangGraph server and what is asked of it: each error of its SDK is one line. Its store is one of LangGraph's."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NoReturn, ParamSpec, TypeVar

import httpx
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph_sdk.client import SyncLangGraphClient

from deepnb.gate import redact
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, NotFoundError, RefusedError, RunError
from deepnb.values.server_address import LOST, ServerAddress

T = TypeVar("T")
P = ParamSpec("P")

_TIMES = httpx.Timeout(connect=5, read=300, write=300, pool=5)
"""Seconds; while a run is silent, the server sends a sign of life."""
_WORDS = 200
"""Characters of what the server says of an error."""


class GoneError(NotFoundError):
    """The server has no such thread, run or assistant (any more)."""


class Server:
    """Where requests go, and the header that goes with them: it is in no other request, and in no text."""

    def __init__(self, address: ServerAddress, header: str = "", value: Callable[[], str] = str) -> None:
        """`header` is a name, and `value` gives what it holds."""
        self.address = address
        self.header = header
        self._value = value

    def __repr__(self) -> str:
        return f"Server({self.address.url!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("what a server is sent stays in its process")

    @cached_property
    def client(self) -> SyncLangGraphClient:
        """The SDK's. It reads no key from the environment, which would be that of another service."""
        with self.errors():
            requests = httpx.Client(
                base_url=self.address.url,
                headers={self.header: self._value()} if self.header else {},
                timeout=_TIMES,
                follow_redirects=False,
                trust_env=not self.address.is_loopback,
                event_hooks={"response": [self._no_other_place]},
            )
            return SyncLangGraphClient(requests)

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()

    def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a call of the client gives; an error is one line."""
        with self.errors():
            return call(*args, **kwargs)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Within the block an error of the SDK becomes one of ours, without its request."""
        try:
            yield
        except httpx.HTTPStatusError as error:
            raise self._refused(error) from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise RunError(f"no server answers at {self.address.url}", "start it, then run the cell again") from None
        except (httpx.HTTPError, httpx.StreamError):
            raise lost(self.address) from None
        except ValueError:
            what = f"what answers at {self.address.url} is no LangGraph server"
            raise InvalidError(what, "%agent use http://host:port/assistant") from None

    def _no_other_place(self, response: httpx.Response) -> None:
        """Nothing is sent to another place because an answer names one: the header is for this server alone."""
        if response.has_redirect_location:
            place = httpx.URL(response.headers["location"])
            where = f"{place.scheme}://{place.netloc.decode()}" if place.host else "another path"
            what = f"the server at {self.address.url} redirects to {where}"
            raise RefusedError(what, "%agent use URL with the address that answers")
        # The SDK would go on from there by itself after a break, and tell again what was told.
        response.headers.pop("location", None)

    def _refused(self, error: httpx.HTTPStatusError) -> DeepnbError:
        """Return the error in one line, with what the server says of it, in which the header's value is hidden."""
        code, server = error.response.status_code, f"the server at {self.address.url}"
        body = getattr(error, "body", None)
        body = body if isinstance(body, dict) else {}
        words = " ".join(str(next((body[k] for k in ("detail", "message", "error") if body.get(k)), "")).split())
        if (value := self._value() if self.header else "") and value in words:
            words = words.replace(value, "[hidden]")
        said = f"{code}: {redact(words)[:_WORDS]}" if words else str(code)
        match code:
            case 401 | 403:
                what = f"the header {self.header} was not accepted" if self.header else "a header is asked for"
                do = f"%agent use URL --header {self.header or 'NAME'} asks for its value"
                return RefusedError(f"{self.address.url}: {what} ({said})", do)
            case 404:
                return GoneError(f"{server} has no such thing ({said})", "%agent threads lists its threads")
            case 409:
                do = "wait until it ends, or %agent resume follows it"
                return BusyError("a run is going on in this thread on the server", do)
            case 400 | 422:
                return InvalidError(f"{server} refused the request ({said})")
        return RunError(f"{server} failed ({said})", "its log says why; then run the cell again")


def lost(address: ServerAddress) -> RunError:
    return RunError(f"{LOST} {address.url}", "%agent resume follows its run, if the server goes on")


class ServerStore(BaseStore):
    """One request for each operation."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does for a coroutine, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        ask, store = self._server.ask, self._server.client.store
        match op:
            case GetOp():
                try:
                    found: Any = ask(store.get_item, op.namespace, op.key)
                except GoneError:
                    return None
                return _item(Item, found) if found else None
            case SearchOp():
                what: Any = {"filter": op.filter, "limit": op.limit, "offset": op.offset}
                asked: Any = ask(store.search_items, op.namespace_prefix, **what)
                return [_item(SearchItem, one) for one in asked["items"]]
            case PutOp(value=None):
                ask(store.delete_item, op.namespace, op.key)
            case PutOp():
                ask(store.put_item, op.namespace, op.key, dict(op.value or {}))
            case ListNamespacesOp():
                prefix = next((list(m.path) for m in op.match_conditions or () if m.match_type == "prefix"), [])
                named: Any = ask(store.list_namespaces, prefix, limit=op.limit)
                return [tuple(one) for one in named["namespaces"]]
        return None


def _item(kind: Any, given: Any) -> Any:
    times = {
        name: datetime.fromisoformat(text) if isinstance(text := given.get(name), str) else datetime.now(UTC)
        for name in ("created_at", "updated_at")
    }
    return kind(namespace=tuple(given["namespace"]), key=given["key"], value=given["value"], **times)
