"""Live outputs: display ids and ipywidgets fed with view-models; no arithmetic.

A class of ipywidgets is named by way of this module, so that ipywidgets is imported when the first widget is made.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():
        raise AttributeError(name)
    return getattr(import_module("ipywidgets"), name)
