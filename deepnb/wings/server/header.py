"""The header that a server asks for: typed where it can't be seen, or taken from the environment; held in this process."""

import os
import re
from collections.abc import Callable

from deepnb.gate import add_own
from deepnb.models.keys import Key
from deepnb.session.models import ask_hidden
from deepnb.values.errors import InvalidError
from deepnb.values.server_address import ServerAddress

_HEADERS: dict[str, tuple[str, Key]] = {}
"""Where a server is -> the header that it is sent."""


def enter_header(address: ServerAddress, name: str) -> None:
    """Hold a header for a server: its value is that of a variable of the environment, else it is asked for."""
    variable = f"DEEPNB_HEADER_{re.sub('[^A-Z0-9]', '_', name.upper())}"
    asked, do = (
        f"value of the header {name} for {address.host}",
        f"set {variable} in the environment that starts Jupyter",
    )
    value = os.environ.get(variable) or ask_hidden(asked, "the value of a header", do)
    value, do = value.strip(), f"%agent use {address.url} --header {name} asks again"
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise InvalidError(f"{name!r} can't be the name of a header", "--header Authorization, or --header X-Api-Key")
    if not value:
        raise InvalidError("nothing was entered", do)
    if not value.isprintable() or not value.isascii():
        raise InvalidError("what was entered can't be the value of a header", do)
    for credential in {value, value.rpartition(" ")[2]}:  # as it is, and without `Bearer`
        add_own(credential)
    _HEADERS[address.url] = (name, Key(value))


def kept_header(url: str) -> tuple[str, Callable[[], str]]:
    """Return the name of the header that a server is sent, and what gives its value; empty if none was entered."""
    if url not in _HEADERS:
        return "", str
    name, key = _HEADERS[url]
    return name, key.reveal
