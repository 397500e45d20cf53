"""What only this user's kernels can sign: approvals in a database count for something where they did."""

import hmac
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepnb.values.errors import RefusedError

Sign = Callable[[Any], str]
"""The signature of a value in JSON's words; empty where nothing is signed."""

_BYTES = 32


def unsigned(value: Any) -> str:
    """The signature where threads are kept in this process alone: none is needed."""
    return ""


def signer(about: str) -> Sign:
    """Signs with the user's own key, which is made when it is first needed: `~/.deepnb/key`."""
    key = hmac.digest(_user_key(), about.encode(), "sha256")

    def sign(value: Any) -> str:
        text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=repr)
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    return sign


def _user_key() -> bytes:
    path = Path.home() / ".deepnb" / "key"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        made = path.with_name(f"key-{os.getpid()}-{secrets.token_hex(4)}")
        if not path.exists():
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
            try:
                os.link(made, path)  # of two kernels that begin at once one is first
            except FileExistsError:
                pass
            finally:
                made.unlink()
        key = path.read_bytes()
    except OSError as error:
        raise RefusedError(
            f"the key that approvals are signed with can't be made in {path.parent} ({error.strerror})",
            "see that you can write there",
        ) from None
    if len(key) != _BYTES:
        raise RefusedError(f"{path} is no key of deepnb's", "remove it: calls that wait are then asked about again")
    return key
