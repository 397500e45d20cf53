"""The header that a server asks for: typed where it can't be seen, or taken from the environment."""

import os
import re

from deepnb.models.keys import keep_header
from deepnb.session.models import ask_hidden
from deepnb.values.server_address import ServerAddress


def variable_of(name: str) -> str:
    """The variable of the environment that may hold its value."""
    return f"DEEPNB_HEADER_{re.sub('[^A-Z0-9]', '_', name.upper())}"


def enter_header(address: ServerAddress, name: str) -> None:
    """Hold a header for a server: its value is that of the variable, else it is asked for."""
    variable = variable_of(name)
    value = os.environ.get(variable) or ask_hidden(
        f"value of the header {name} for {address.host}",
        "the value of a header",
        f"set {variable} in the environment that starts Jupyter",
    )
    keep_header(address.url, name, value)
