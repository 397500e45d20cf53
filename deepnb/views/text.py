"""Text as a screen shows it: cleaned characters, columns, lines that fit; figures in words."""

import math
import re
import unicodedata
from collections.abc import Iterable

COLUMNS = 100
"""How wide text output is at most, where its content allows."""

_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")  # fmt: skip


def clean(text: str) -> str:
    """Return `text` with what would break or fool a screen made visible.

    Control characters become their pictures (ESC is ␛). The signs that turn the direction of
    writing (CVE-2021-42574) and the unseen tags (U+E0000 and on) become their names, and lone
    surrogates the replacement sign.
    """
    return _ODD.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    if (code := ord(match[0])) < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"[U+{code:04X}]"


def width(text: str) -> int:
    """Return how many columns a terminal gives `text`: East Asian wide signs take two, marks none."""
    return len(text) if text.isascii() else sum([_columns(char) if char > "\x7f" else 1 for char in text])


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else 1


def pad(text: str, columns: int, right: bool = False) -> str:
    """Return `text` filled up with blanks to `columns`; blanks come first with `right`."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def short(text: str, columns: int) -> str:
    """Return `text` on one line of at most `columns`, ending in … where something was left out."""
    line = " ".join(text[: 4 * columns + 40].split())
    if width(line) <= columns and len(text) <= 4 * columns + 40:
        return line
    out, room = [], columns - 1
    for char in line:
        room -= _columns(char) if char > "\x7f" else 1
        if room < 0:
            break
        out.append(char)
    return "".join(out).rstrip() + "…"


def middle_cut(text: str, head: int, tail: int) -> str:
    """Return `text`, or its head and tail with a line between them that counts what was left out."""
    if (left_out := len(text) - head - tail) <= 60:
        return text
    return f"{text[:head]}\n… {left_out:,} characters left out …\n{text[len(text) - tail :]}"


def indent(text: str, by: str = "  ") -> str:
    """Return `text` with `by` before each line that is not empty."""
    return "\n".join(by + line if line else "" for line in text.split("\n"))


def quoted(text: str) -> list[str]:
    """Return the lines of someone's text, set apart from our words by a stroke before each."""
    return [f"  │ {line}" for line in text.rstrip("\n").split("\n")]


def title_line(title: str, stamp: str = "") -> str:
    """Return the first line of a record: what it is, and of which turn."""
    return f"{title}   ({stamp})" if stamp else title


def page(lines: Iterable[str]) -> str:
    """Return the lines joined and cleaned; no blanks at the ends of lines, no line feed at the end."""
    return "\n".join(line.rstrip() for line in clean("\n".join(lines)).split("\n")).rstrip("\n")


def seconds(value: float) -> str:
    """Return a time, always as `0.01 s`: two decimals, so that a saved notebook can mask it."""
    return f"{value if math.isfinite(value) else 0.0:,.2f} s"


def elapsed(value: float) -> str:
    """Return a time that grows: `8 s`, `1 min 05 s`, `1 h 02 min`."""
    if (whole := int(value)) < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def cost(dollars: float) -> str:
    """Return US dollars, as `$0.0012`; two decimals from a dollar on."""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def tokens(count: int, exact: bool = True) -> str:
    """Return `1,234`, or `~1,234` for an estimate."""
    return f"{'' if exact else '~'}{count:,}"


def counted(count: int, noun: str, exact: bool = True) -> str:
    """Return `1 call`, `2 calls`, `1,234 tokens`; `~1,234 tokens` for an estimate."""
    return f"{tokens(count, exact)} {noun}{'' if count == 1 else 's'}"


def percent(part: float, whole: float) -> str:
    """Return `65 %`, `0.4 %`, `<0.1 %`; a dash where there is no whole."""
    if whole <= 0:
        return "–"
    value = 100 * part / whole
    if 0 < value < 0.05:
        return "<0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value <= 0 else f"{value:.1f} %"
