"""Addresses: of an agent on a LangGraph server, `http://host:port/assistant`, and of a PostgreSQL database."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from deepnb.values.errors import InvalidError, RefusedError

POSTGRES = ("postgresql://", "postgres://")
"""How the address of a database begins."""

LOST = "lost the connection to"
"""How the error of a turn begins whose run may go on at its server."""

_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]+){3}|::1")


@dataclass(frozen=True)
class ServerAddress:
    """Where the server is, and which of its assistants is meant; none where that is empty."""

    url: str
    assistant: str = ""

    def __str__(self) -> str:
        return f"{self.url}/{self.assistant}" if self.assistant else self.url

    @property
    def host(self) -> str:
        """`host:port`."""
        return urlsplit(self.url).netloc

    @property
    def is_loopback(self) -> bool:
        return bool(_LOOPBACK.fullmatch(urlsplit(self.url).hostname or ""))


def is_address(value: object) -> bool:
    return isinstance(value, str) and bool(re.match(r"https?://", value))


def server_address(text: str) -> ServerAddress:
    """Return the address that a text is, whose last part names the assistant; an error in one line for what no server is at."""
    parts = urlsplit(text.strip())
    if "@" in parts.netloc:
        raise RefusedError("the address has a name or a password", "%agent use URL --header Authorization asks for it")
    if re.search(r"/v\d\w*(?:/openai)?(?:/chat/completions|/models)?/*$", parts.path):  # http://localhost:8080/v1
        what = "this is the address of an OpenAI-compatible server, not of an agent"
        raise InvalidError(what, f"%agent use NAME --base-url {text.strip()}")
    if not parts.hostname or parts.query or parts.fragment:
        raise InvalidError("this is not the address of a server", "%agent use http://host:port/assistant")
    before, _, name = parts.path.rstrip("/").rpartition("/")
    return ServerAddress(f"{parts.scheme}://{parts.netloc}{before}", unquote(name))


def without_password(url: str) -> str:
    """Return the address of a database as it may be shown: with neither its password nor its parameters."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the database"
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"
