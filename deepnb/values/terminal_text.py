"""Text as a terminal leaves it standing: what was overwritten is gone, and colours are."""

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def terminal_text(text: str) -> str:
    """Without escape sequences; of a line with carriage returns what was written last, as of a progress bar."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
