"""Texts that try to run something in the page that shows them, or to fool its reader: kind -> texts, all made here.

What runs sets `window.__hit`; what loads something asks for a host that is none (`evil.example`).
"""

import json

from tests import DATA

_EVENTS = (
    *("onerror", "onload", "onclick", "onmouseover", "onmouseenter", "onfocus", "onfocusin", "onblur", "ontoggle"),
    *("onanimationstart", "onanimationend", "ontransitionend", "onwheel", "onscroll", "oncut", "onbeforetoggle"),
    *("onpointerover", "onpointerrawupdate", "onbeforematch", "oncontentvisibilityautostatechange"),
)
KINDS: dict[str, list[str]] = json.loads((DATA / "hostile.json").read_text(encoding="utf-8"))
KINDS["handler"] += [f"<img src=x {event}=window.__hit=1>" for event in _EVENTS]
KINDS["formula"] += ["$" + "{" * 2_000 + "x" + "}" * 2_000 + "$", "$\\def\\a{\\a\\a}\\a$ " + "\\(" * 500]
KINDS["odd"] += ["a\u0300" * 400, "﷽" * 50]
KINDS["bidi"] += ["\u202a\u202b\u202d\u202e" * 20]
SHORT = [text for texts in KINDS.values() for text in texts]

_LINE = 1_000_000
LONG = [
    ("<script>window.__hit=1</script>" * (_LINE // 31))[:_LINE],
    ("<img src=x onerror=window.__hit=1>" * (_LINE // 34))[:_LINE], "<" * _LINE,
    ("[x](javascript:window.__hit=1) " * (_LINE // 31))[:_LINE], "\u202e" * _LINE,
]  # fmt: skip
"""Single lines of a million characters."""
