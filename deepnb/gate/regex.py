"""A regular expression that is compiled when it is first asked for: loading compiles no rule that no text has met yet."""

import re
from collections.abc import Callable
from functools import cache, partial


def regex(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A function that gives the compiled pattern, each time the same."""
    return cache(partial(re.compile, pattern, flags))
