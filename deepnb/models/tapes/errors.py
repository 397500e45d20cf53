"""A failed request on a tape: what else asks an exception for, as JSON, and an exception that answers the same.

Kept are names of classes, the status, the provider's own words and how long it asks to wait; of headers nothing else.
"""

from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from langchain_core import exceptions
from langchain_core.exceptions import ModelError

from deepnb.values.model_failure import causes

_MESSAGE = 2_000
"""Characters of a text that are kept."""
_WAITS = ("retry-after", "retry-after-ms")
_BODY = ("message", "type", "code")


class RecordedError(Exception):
    """An error that was recorded; its class has the name of the one it was."""

    is_played = True
    """Whether the next try need not wait: it is on the tape."""


def error_of(error: BaseException) -> dict[str, Any]:
    """What is kept of an error."""
    chain = list(causes(error))
    made: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:_MESSAGE]}
    kinds = [kind for one in chain for kind in type(one).__mro__ if kind.__module__ != "builtins"]
    known = (kind.__name__ for kind in kinds if issubclass(kind, ModelError) and hasattr(exceptions, kind.__name__))
    if kind := next(known, None):
        made["kind"] = kind
    if names := [name for name in dict.fromkeys(k.__name__ for k in kinds) if name not in (kind, made["type"])]:
        made["names"] = names
    found = (("status", _status), ("body", _body), ("wait", _wait), ("at", _host))
    return made | {name: value for name, of in found if (value := next(filter(None, map(of, chain)), None))}


def recorded(error: Mapping[str, Any]) -> Exception:
    """The error of a request that failed when it was recorded."""
    kind = getattr(exceptions, str(error.get("kind")), None)
    known = (kind,) if isinstance(kind, type) and issubclass(kind, ModelError) else ()
    others = tuple(_class(name) for name in error.get("names", ()) if not hasattr(exceptions, str(name)))
    made: Any = _class(error.get("type"), RecordedError, *known, *others)(error.get("message", ""))
    if status := error.get("status"):
        made.status_code = status
    if body := error.get("body"):
        made.body = {"error": dict(body)}
    if wait := error.get("wait"):
        made.response = SimpleNamespace(headers=dict(wait), status_code=error.get("status"))
    if at := error.get("at"):
        host, _, port = str(at).rpartition(":")
        made.request = SimpleNamespace(url=SimpleNamespace(host=host, port=int(port) if port.isdigit() else None))
    failed: Exception = made
    return failed


def _class(name: Any, *bases: type) -> type:
    return type(str(name) if str(name).isidentifier() else "RecordedError", bases or (Exception,), {})


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _body(error: BaseException) -> dict[str, str] | None:
    """The provider's description of the error."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(inner, Mapping):
        return None
    return {key: text[:_MESSAGE] for key in _BODY if isinstance(text := inner.get(key), str)}


def _wait(error: BaseException) -> dict[str, str] | None:
    """The headers that say how long to wait, where they hold a number."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    found = {}
    for name in _WAITS:
        with suppress(KeyError, TypeError, ValueError):
            found[name] = str(float(headers[name]))
    return found


def _host(error: BaseException) -> str | None:
    """Host and port that the request went to; httpx raises where it was never made."""
    with suppress(Exception):
        url = error.request.url  # type: ignore[attr-defined]
        return f"{url.host}:{url.port or ''}"
    return None
