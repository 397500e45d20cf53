"""What the page's MathJax takes for math in some markup, by the rules of its `FindTeX`."""

import re
from html.parser import HTMLParser

_SKIP = ("pre", "code", "script", "style")
_INLINE = ("br", "wbr")
_START = re.compile(r"\$\$|\$|\\\(|\\\[|\\begin\s*\{([^}]*)\}|\\[\\$]")
_END = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}


class _Strings(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.strings = [""]
        self._skipped = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _INLINE:
            self.strings.append("")
            self._skipped += tag in _SKIP

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.strings.append("")
            self._skipped -= tag in _SKIP

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.strings[-1] += data


def typeset(markup: str) -> tuple[str, ...]:
    return tuple(found for string in _Strings(markup).strings for found in _formulas(string))


def _formulas(string: str) -> list[str]:
    found, at = [], 0
    while start := _START.search(string, at):
        at = start.end()
        sign = start[0]
        end = _END.get(sign) or (rf"\end{{{start[1]}}}" if start[1] is not None else "")
        if end and (close := _close(string, at, end)):
            found.append(string[start.start() : close])
            at = close
    return found


def _close(string: str, at: int, end: str) -> int:
    """Where a formula ends that begins before `at`; 0 where it does not: braces are counted, escapes are not."""
    braces = 0
    while at < len(string):
        if string.startswith(end, at) and braces == 0:
            return at + len(end)
        if string[at] == "\\":
            at += 1
        elif string[at] in "{}":
            braces += 1 if string[at] == "{" else -1
        at += 1
    return 0
