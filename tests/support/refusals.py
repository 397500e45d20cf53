"""What is refused: an error of one line."""

from collections.abc import Callable
from typing import Any

import pytest

from deepnb import DeepnbError


def refused(line: str, act: Callable[..., Any], *given: Any, **named: Any) -> DeepnbError:
    """The error that an act ends with; `line` is a regular expression for a part of its one line, empty for any."""
    with pytest.raises(DeepnbError, match=line or None) as told:
        act(*given, **named)
    assert "\n" not in str(told.value)
    return told.value
