"""A call of a tool: one line that says what was asked and how it went, and a card with the rest."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deepnb.core.answers import how_called
from deepnb.views import html as h
from deepnb.views.numbers import counted, seconds
from deepnb.views.text import clean, middle_cut, short, width

Status = Literal["running", "ok", "error", "cut"]

_LINE = 84
"""Columns of a call's own part of its line: status and time come after it."""
_ARGUMENT = 40
_HEAD, _TAIL, _MIDDLE = 3_000, 1_000, 30_000
"""Characters of a long result that its card shows at once, and of those between them that it unfolds."""

WORDS = {"running": "running …", "ok": "ok", "error": "error", "cut": "interrupted: no result"}
COLOURS = {
    "running": "rgba(128,128,128,0.2)",
    "ok": h.GREEN.format(0.18),
    "error": h.RED.format(0.22),
    "cut": "rgba(210,153,34,0.25)",
}


@dataclass
class Tool:
    """What is known of a call; it changes while the call runs."""

    id: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    result: str | None = None
    status: Status = "running"
    seconds: float | None = None
    traceback: str = ""


def call_line(name: str, args: Mapping[str, Any], columns: int = _LINE) -> str:
    """`write_file(file_path="/AGENTS.md", content="- The user…")` in at most `columns`."""
    room = max(8, columns - width(name) - 2)
    written: list[str] = []
    for key, value in args.items():
        one = f"{key}={_value(value, _ARGUMENT)}"
        used = sum(width(w) + 2 for w in written)
        if used + width(one) > room:
            short_one = f"{key}={_value(value, max(8, room - used - width(str(key)) - 1))}"
            written.append(short_one if used + width(short_one) <= room else "…")
            break
        written.append(one)
    return short(f"{name}({', '.join(written)})", columns)


def tool_text(tool: Tool) -> tuple[str, list[str]]:
    """The line of the call, and the line of its result if there is one to show."""
    took = "" if tool.seconds is None else f" {seconds(tool.seconds)}"
    first, how = short(_first_line(tool.result or ""), 92), how_called(tool.id)
    line = f"→ {call_line(tool.name, tool.args)}{how and f' {how}'}  {WORDS[tool.status]}{took}"
    return line, [f"  {first}"] if first else []


def tool_html(tool: Tool, inside: Sequence[h.Html] = ()) -> h.Html:
    """The card: its summary line opens to arguments, what happened inside, and the result."""
    took = "" if tool.seconds is None else seconds(tool.seconds)
    state = h.join(" · ", h.swatch(WORDS[tool.status], COLOURS[tool.status]), "  ", h.muted(took))
    body: list[h.Child] = []
    if tool.args:
        body += [h.label("arguments"), h.pre(middle_cut(pretty(tool.args), _HEAD, _TAIL), low=True)]
    if inside:
        nest = f"border-left:2px solid {h.LINE};margin:6px 0;padding:0 0 0 10px"
        body += [h.label("inside"), h.el("div", *inside, style=nest)]
    if tool.result is not None:
        body += [
            h.label("result"),
            long_text(tool.result) if tool.result else " (empty)",
        ]
    if tool.traceback:
        body.append(h.fold("traceback", h.pre(tool.traceback, low=True), framed=False))
    how = [h.muted(f" {how}") for how in (how_called(tool.id),) if how]
    head = h.join(h.code(call_line(tool.name, tool.args)), *how, state)
    return h.fold(head, *(body or [h.muted("no arguments")]))


def long_text(text: str) -> h.Html:
    """A block of text; of a long one its head and its tail, with a fold that shows all between them."""
    between = len(text) - _HEAD - _TAIL
    if between <= 60:
        return h.pre(text, low=True)
    middle = text[_HEAD : len(text) - _TAIL]
    return h.join(
        h.pre(text[:_HEAD], low=True),
        h.fold(f"show {counted(between, 'more character')}", h.pre(middle_cut(middle, _MIDDLE, 0)), framed=False),
        h.pre(text[len(text) - _TAIL :], low=True),
    )


def pretty(value: Any) -> str:
    """JSON on several lines; what JSON does not know is written as Python shows it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _value(value: Any, columns: int) -> str:
    if isinstance(value, str):
        line = " ".join(clean(value[: 4 * columns + 40]).split())
        whole = len(value) <= 4 * columns + 40
        cut = line if whole and width(line) <= columns - 2 else short(line + " …", columns - 2)
        return '"' + cut.replace('"', "'") + '"'
    return short(pretty(value), columns)


def _first_line(text: str) -> str:
    return next((line for line in text[:4_000].split("\n") if line.strip()), "")
