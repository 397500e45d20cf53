"""Asking for what nobody may see: neither the page nor the notebook nor a log."""

import getpass
import warnings

from deepnb.values.errors import InvalidError


def ask_hidden(prompt: str, what: str, do: str) -> str:
    """What is typed where it can't be seen; an error of one line from a front end that can't ask for `what`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would be seen as it is typed
            return getpass.getpass(f"{prompt} (hidden, kept in this process only): ")
    except (NotImplementedError, EOFError, OSError, getpass.GetPassWarning):
        raise InvalidError(f"this front end can't ask for {what}", do) from None
