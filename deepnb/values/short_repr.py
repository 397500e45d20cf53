"""What `print` and a debugger show of a value: one short line, whatever the value holds."""

MOST = 240
"""Characters of such a line."""


def short_repr(value: object, words: str) -> str:
    """`<Turn 2 of main: ...>`: the value's class, then `words`; what can't be printed or turns the line is �."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in excerpt(words, MOST))
    return f"<{type(value).__name__} {line}>"


def excerpt(text: str, most: int = 48) -> str:
    """`text` on one line of at most `most` characters, ending in … where something was left out."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"
